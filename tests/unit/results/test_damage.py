"""Damaged results: every trial that is whole is read, what is lost is named, and resuming measures it again."""

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pyarrow.parquet as pq
import pytest

from tests.helpers.results.stored import CAMPAIGN, ids, record
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.inputs import InputError
from vtax.results import Result, ResultWriter
from vtax.results.journal import NAME, Journal, read_journal
from vtax.results.schema import BLOCK_TABLES, TABLES
from vtax.views import summarise, write_report

NEEDED = ["trials", "flows"]
TRACED = ["stages", "packets"]
"""The made trials have none: nothing is lost with an empty file."""
BESIDE = [name for name in BLOCK_TABLES if name not in NEEDED + TRACED]

Cut = Callable[[bytes], bytes | None]


def flipped(content: bytes) -> bytes:
    """One bit of the first column's last value is another."""
    column = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0)
    at = column.dictionary_page_offset + column.total_compressed_size - 1
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


CUTS: dict[str, Cut] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "magic only": lambda content: content[:4],
    "half": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "a bit flipped": flipped,
}


def cut(path: Path, how: Cut) -> None:
    content = how(path.read_bytes())
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks 0 to 2 of 5, 4 and 4 trials."""
    return make_result(
        tmp_path_factory.mktemp("results") / "synthetic",
        platforms=("raw", "qemu-virtio"),
        streams=(2,),
        frame_bytes=(64,),
        loads=(100.0, None),
        repetitions=3,
    )


@pytest.fixture
def directory(synthetic: Path, tmp_path: Path) -> Path:
    return copytree(synthetic, tmp_path / "copy")


def blocks(result: Result) -> list[int]:
    return list(result.query("SELECT DISTINCT block FROM trials ORDER BY block")["block"].to_pylist())


@pytest.mark.parametrize("table", NEEDED)
@pytest.mark.parametrize("how", CUTS.values(), ids=CUTS)
def test_a_block_without_trials_or_flows_is_left_out(directory: Path, table: str, how: Cut) -> None:
    part = directory / table / "block-0001.parquet"
    cut(part, how)
    result = Result.open(directory)
    (damage,) = result.damaged
    assert damage.startswith(f"{part}: ")
    assert "4 trials of block 1 are left out" in damage
    assert blocks(result) == [0, 2]
    assert set(ids(result, "flows")) == set(ids(result))


@pytest.mark.parametrize("table", BESIDE)
@pytest.mark.parametrize("how", CUTS.values(), ids=CUTS)
def test_a_trial_is_shown_without_what_another_table_lost(directory: Path, table: str, how: Cut) -> None:
    part = directory / table / "block-0001.parquet"
    before = set(ids(Result.open(directory), table))
    lost = {trial for trial in before if 5 <= trial < 9}
    cut(part, how)
    result = Result.open(directory)
    assert ids(result) == list(range(13))
    assert set(ids(result, "flows")) == set(range(13))
    assert set(ids(result, table)) == before - lost
    (damage,) = result.damaged
    assert damage.startswith(f"{part}: ")
    assert f"4 trials of block 1 are shown without {table}" in damage


@pytest.mark.parametrize("table", NEEDED + BESIDE)
def test_a_part_of_another_block_is_noticed(directory: Path, table: str) -> None:
    part = directory / table / "block-0001.parquet"
    part.write_bytes((directory / table / "block-0002.parquet").read_bytes())
    result = Result.open(directory)
    assert str(part) in result.damaged[0]
    assert set(ids(result, table)) == {*range(5), *range(9, 13)}


def test_a_part_from_an_earlier_time_hides_only_what_it_lacks(tmp_path: Path) -> None:
    flows = tmp_path / "flows" / "block-0000.parquet"
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
        earlier = flows.read_bytes()
        writer.commit(record(1))
    flows.write_bytes(earlier)
    result = Result.open(tmp_path)
    assert ids(result) == [0]
    assert result.damaged == [f"{flows}: lacks rows; 1 trial of block 0 is left out"]


JOURNAL_CUTS: dict[str, Cut] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "a few bytes": lambda content: content[:4],
    "a page zeroed": lambda content: bytes(512) + content[512:],
    "a bit flipped": lambda content: content.replace(b'{"trials"', b'["trials"', 1),
    "a byte less in a line": lambda content: content.replace(b'"trials"', b'"trial"', 1),
    "lines in one": lambda content: content.replace(b"\n", b" ", 3),
}


@pytest.mark.parametrize("how", JOURNAL_CUTS.values(), ids=JOURNAL_CUTS)
def test_without_its_journal_a_result_is_read_from_its_parts(
    directory: Path, how: Cut, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Result.open(directory)
    journal = directory / NAME
    cut(journal, how)
    result = Result.open(directory)
    (damage,) = result.damaged
    assert damage.startswith(f"{journal}: ")
    assert f"--resume {directory} builds it again" in damage
    assert result.tables == whole.tables
    assert main(["sql", str(directory), "SELECT count(*) AS n FROM trials", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert '"n": 13' in shown.out
    assert str(journal) in shown.err
    assert any(caveat.subject == "Damaged data" for caveat in summarise(result).caveats)

    with ResultWriter.resume(directory) as writer:
        assert writer.committed == set(range(13))
        assert str(journal) in writer.repaired[0]
    assert [entry.trial_id for entry in read_journal(directory)] == list(range(13))
    assert Result.open(directory).damaged == []


@pytest.mark.parametrize("table", BLOCK_TABLES)
def test_resuming_says_what_is_lost_and_measures_it_again(tmp_path: Path, table: str) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        for number in range(6):
            writer.commit(record(number, block=number // 3))
    kept = Result.open(tmp_path).query("SELECT * FROM trials WHERE block = 1")
    part = tmp_path / table / "block-0000.parquet"
    part.write_bytes(part.read_bytes()[:-5])
    with ResultWriter.resume(tmp_path) as writer:
        assert writer.committed == {3, 4, 5}
        assert str(part) in writer.repaired[0]
        assert writer.repaired[-1] == "trials that lost rows and are measured again: 3"
        assert ids(Result.open(tmp_path)) == [3, 4, 5]
        aside = sorted(path.name for path in tmp_path.glob("*/*.damaged"))
        of_trials = [f"block-0000-trial-{number:06d}.parquet.damaged" for number in range(3)]
        assert aside == of_trials + ["block-0000.parquet.damaged"] * len(BLOCK_TABLES)
        writer.commit(record(6))
    result = Result.open(tmp_path)
    assert result.damaged == []
    for name in TABLES:
        assert set(ids(result, name)) == {3, 4, 5, 6}
    assert result.query("SELECT * FROM trials WHERE block = 1") == kept


def test_nothing_is_added_to_a_block_that_is_damaged_meanwhile(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
        writer.commit(record(1, block=1))
        (tmp_path / "flows" / "block-0000.parquet").write_bytes(b"PAR1")
        with pytest.raises(InputError, match=r"flows/block-0000.parquet: .* nothing can be added .*--resume"):
            writer.commit(record(2))
        writer.commit(record(2, block=1))


def test_half_a_campaign_says_how_far_it_came(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A killed one cannot say so itself: nobody holds the directory any more."""
    directory = copytree(synthetic, tmp_path / "copy")
    for table in BLOCK_TABLES:
        (directory / table / "block-0002.parquet").unlink()
    with closing(Journal(directory)) as journal:
        journal.hold(entry for entry in read_journal(directory) if entry.block < 2)
    with ResultWriter.resume(directory) as writer:
        writer.update(status="running")
        assert Result.open(directory).campaign["status"] == "running"
    assert Result.open(directory).campaign["status"] == "cut short"
    assert main(["show", str(directory)]) == 0
    said = capsys.readouterr().out
    assert "cut short, 8 of 12 trials measured" in said
    assert "Campaign is cut short" in said
    assert "cut short, 8 of 12 trials measured" in write_report(Result.open(directory)).read_text()
    assert main(["sql", str(directory), "SELECT count(*) AS n FROM trials", "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["n", "9"]
