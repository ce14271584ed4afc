"""Power is lost at any instant: each trial whose commit had returned is there, whole, and none that had not begun."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.helpers.paths import ROOT
from tests.helpers.power.campaign import PLAIN, RESULT, TOLD, trial
from tests.helpers.power.disk import Change, Disk, files_below, read_record
from tests.helpers.results.stored import ids
from vtax.results import Result, ResultWriter
from vtax.results.journal import read_journal
from vtax.results.schema import TABLES

POINTS = 200
LAST = 9
RECORDER = ROOT / "tests/helpers/power/recorder.c"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Recorded:
    """What a campaign had the disk do below `root`, and its result in the end."""

    root: Path
    changes: list[Change]
    tables: dict[str, pa.Table]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    place = tmp_path_factory.mktemp("power")
    library, root, record = place / "recorder.so", place / "disk", place / "record"
    root.mkdir()
    compiler = ["clang", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, RECORDER]
    subprocess.run(compiler, check=True)
    recording = {"LD_PRELOAD": str(library), "RECORDED": str(root), "RECORD": str(record)}
    command = [sys.executable, "-m", "tests.helpers.power.campaign", str(root)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **recording})
    return Recorded(root, read_record(record), Result.open(root / RESULT).tables)


def test_the_record_holds_all_that_was_written(recorded: Recorded, tmp_path: Path) -> None:
    """By Python and by Arrow: carried out again, it leaves the same files to the byte."""
    disk = Disk(recorded.root)
    for change in recorded.changes:
        disk.carry_out(change)
    disk.write_all(tmp_path)
    again = dict(files_below(tmp_path))
    assert again == dict(files_below(recorded.root))
    assert len(again[PLAIN]) > 4000
    assert sum(change.what == "S" for change in recorded.changes) > 100


Lost = Callable[[Change, str], bool]


@pytest.fixture
def place() -> Iterator[Path]:
    """In memory where that is possible, as each point makes a result anew."""
    memory = Path("/dev/shm")  # noqa: S108, a directory of one's own is made there
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as directory:
        yield Path(directory)


def losses(recorded: Recorded, place: Path, is_lost: Lost = lambda *_: False) -> Iterator[str]:
    """Lose power at 200 points of the record; what is not as it has to be, after each."""
    changes = len(recorded.changes)
    points = {(number + 1) * changes // POINTS for number in range(POINTS)}
    disk, told = Disk(recorded.root, is_lost), ""
    teller = (recorded.root / TOLD).stat().st_ino
    for number, change in enumerate(recorded.changes, 1):
        disk.carry_out(change)
        if change.inode == teller:
            told += change.content.decode()
        if number in points:
            left = place / str(number)
            left.mkdir()
            disk.write_left(left, Random(number))  # noqa: S311
            try:
                check(left / RESULT, told, recorded.tables)
            except Exception as error:
                at = f"change {number} of {changes}, {change.what} {' '.join(change.paths)}"
                yield f"after {at}: {type(error).__name__}: {error}"
            finally:
                rmtree(left)


def check(directory: Path, told: str, final: dict[str, pa.Table]) -> None:
    """What power left of a result, to one who reads it, to one who goes on with it, and to who reads that."""
    said = told.split("\n")
    if "created" not in said:
        return
    done = [int(line.split()[1]) for line in said if line.startswith("done")]
    begun = [int(line.split()[1]) for line in said if line.startswith("begin")]
    result = Result.open(directory)
    shown = ids(result)
    assert result.damaged == [], result.damaged
    assert shown in (done, begun), (shown, done, begun)
    assert_whole(result, final)
    assert {entry.trial_id for entry in read_journal(directory)} >= set(done), "the journal lacks a trial"
    if "kept" in said:
        assert (directory / "files/tool").read_bytes() == b"own"
    for number in done:
        if trial(number).capture:
            assert (directory / f"captures/{number}.pcap").stat().st_size > 64
    if "complete" in said:
        assert result.campaign["status"] == "complete"
    with ResultWriter.resume(directory) as writer:
        assert writer.repaired == []
        assert writer.committed == set(shown)
        if len(shown) < LAST:
            writer.commit(trial(len(shown)))
    after = Result.open(directory)
    assert (after.damaged, ids(after)) == ([], list(range(min(len(shown) + 1, LAST))))
    assert_whole(after, final)
    assert [entry.trial_id for entry in read_journal(directory)] == ids(after)
    assert list(directory.rglob("*.tmp")) == []


def assert_whole(result: Result, final: dict[str, pa.Table]) -> None:
    """Its trials have the rows that they have in the end."""
    trials = result.tables["trials"]["trial_id"]
    for table in TABLES:
        expected = final[table].filter(pc.is_in(final[table]["trial_id"], value_set=trials.combine_chunks()))
        assert result.tables[table].equals(expected), f"{table} of {trials.to_pylist()}"


def test_nothing_that_was_committed_is_lost(recorded: Recorded, place: Path) -> None:
    assert list(losses(recorded, place)) == []


def directory_of(suffix: str) -> Lost:
    return lambda _, path: path.endswith(suffix)


FORGOTTEN: dict[str, Lost] = {
    "the content of parts": lambda _, path: ".block-" in path,
    "of campaign.json": lambda _, path: "campaign.json" in path,
    "of the journal's lines": directory_of("/campaign/journal"),
    "of the journal when it is made": lambda _, path: ".journal." in path,
    "of captures": lambda _, path: ".pcap" in path,
    "the names of parts": directory_of("/campaign/trials"),
    "of parts of other tables": directory_of("/campaign/flows"),
    "of parts of trials": directory_of("/campaign/samples"),
    "of captures' directory": directory_of("/campaign/captures"),
    "of what the result has": directory_of("/results/of/campaign"),
    "of the result": directory_of("/results/of"),
    "of what is above it": directory_of("/results"),
    "of what is above that": directory_of("/disk"),
}


@pytest.mark.parametrize("forgotten", FORGOTTEN)
def test_a_flush_that_is_missing_is_found(forgotten: str, recorded: Recorded, place: Path) -> None:
    """As if the writer had forgotten it."""
    assert next(losses(recorded, place, FORGOTTEN[forgotten]), None)
