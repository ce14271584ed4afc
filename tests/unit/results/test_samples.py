"""Tables with many rows: each trial's are a file of its own, committed and lost with no other's."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.results.stored import CAMPAIGN, ids, record
from vtax.results import Result, ResultWriter


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        for number in range(6):
            writer.commit(record(number, block=number // 3))
    return tmp_path


def part(directory: Path, trial_id: int) -> Path:
    return directory / "samples" / f"block-0000-trial-{trial_id:06d}.parquet"


def test_a_commit_writes_its_own_samples_only(directory: Path) -> None:
    before = {path: path.stat().st_ino for path in (directory / "samples").iterdir()}
    with ResultWriter.resume(directory) as writer:
        writer.commit(record(6, block=1))
    after = {path: path.stat().st_ino for path in (directory / "samples").iterdir()}
    assert len(after) == 7
    assert before.items() <= after.items()
    assert sorted(ids(Result.open(directory), "samples")) == list(range(7))


@pytest.mark.parametrize("content", [None, b"", b"PAR1"], ids=["missing", "empty", "cut"])
def test_one_trial_s_lost_samples_are_no_other_s(directory: Path, content: bytes | None) -> None:
    if content is None:
        part(directory, 1).unlink()
    else:
        part(directory, 1).write_bytes(content)
    result = Result.open(directory)
    assert sorted(ids(result)) == list(range(6))
    assert sorted(ids(result, "samples")) == [0, 2, 3, 4, 5]
    (damage,) = result.damaged
    assert "1 trial of block 0 is shown without samples" in damage
    with ResultWriter.resume(directory) as writer:
        assert writer.committed == {0, 2, 3, 4, 5}
        writer.commit(record(1))
    result = Result.open(directory)
    assert (result.damaged, sorted(ids(result, "samples"))) == ([], list(range(6)))


def test_samples_of_a_trial_that_was_never_committed_are_nobody_s(directory: Path) -> None:
    for trial_id in (6, 7):
        rows = pq.read_table(part(directory, 0))
        rows = rows.set_column(0, rows.schema.field(0), pa.array([trial_id], pa.int64()))
        pq.write_table(rows, part(directory, trial_id))
    without = record(6)
    without.samples = []
    with ResultWriter.resume(directory) as writer:
        assert writer.repaired == []
        writer.commit(without)
    result = Result.open(directory)
    assert (result.damaged, sorted(ids(result, "samples"))) == ([], list(range(6)))
