"""What is read at once is what is read block by block, and where anything is amiss it is not read at once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.large_result import PLATFORMS, make
from vtax.inputs import InputError
from vtax.results import Result
from vtax.results.contents import FEW_BLOCKS, SMALL_JOURNAL_BYTES, is_small, read_contents
from vtax.results.journal import NAME as JOURNAL
from vtax.results.manifest import read_manifest
from vtax.results.parts import trial_part_path
from vtax.results.schema import TABLES, schemas
from vtax.results.whole import Whole, read_whole

TRIALS = 2 * len(PLATFORMS) * (FEW_BLOCKS + 1)
"""Of two loads, in more than a few blocks."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "result"
    make(directory, trials=TRIALS, loads_mbps=(10, 20))
    return directory


@pytest.fixture
def result(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "result"))


def at_once(directory: Path) -> Whole | None:
    return read_whole(directory, schemas(read_manifest(directory)))


def test_both_ways_give_the_same(result: Path) -> None:
    expected = schemas(read_manifest(result))
    whole, contents = at_once(result), read_contents(result, expected)
    assert whole is not None
    assert whole.notes == contents.notes == []
    assert whole.tables["trials"].num_rows == TRIALS
    for name, table in contents.tables.items():
        assert whole.tables[name].equals(table), name


def test_tables_that_are_not_asked_for_are_counted_and_not_kept(result: Path) -> None:
    kept = ("trials", "flows")
    result_of_two, everything = Result.open(result, kept), Result.open(result)
    assert tuple(result_of_two.tables) == kept
    assert all(result_of_two.tables[name].equals(everything.tables[name]) for name in kept)
    assert result_of_two.query("SELECT * FROM cells").equals(everything.query("SELECT * FROM cells"))
    with pytest.raises(InputError, match="Table with name latency does not exist"):
        result_of_two.query("SELECT * FROM latency")
    DAMAGES["a part has a row less"](result)
    assert Result.open(result, kept).damaged == Result.open(result).damaged != []


def test_a_small_result_keeps_what_is_asked_for_too(tmp_path: Path) -> None:
    small = tmp_path / "small"
    make(small, trials=len(PLATFORMS), loads_mbps=(10,))
    assert tuple(Result.open(small, ("trials", "flows")).tables) == ("trials", "flows")


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def named(old: str, new: str) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.rename_columns([new if name == old else name for name in rows.column_names])


def block_of(number: int) -> Callable[[pa.Table], pa.Table]:
    def change(rows: pa.Table) -> pa.Table:
        column = pa.array([number] * rows.num_rows, rows.schema.field("block").type)
        return rows.set_column(rows.schema.get_field_index("block"), "block", column)

    return change


def told(row_counts: str) -> Callable[[pa.Table], pa.Table]:
    """Has every trial say so of its rows in the other tables."""

    def change(rows: pa.Table) -> pa.Table:
        column = pa.array([row_counts] * rows.num_rows, rows.schema.field("row_counts").type)
        return rows.set_column(rows.schema.get_field_index("row_counts"), "row_counts", column)

    return change


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a part is missing": lambda result: (result / "flows/block-0001.parquet").unlink(),
    "a trials part is missing": lambda result: (result / "trials/block-0001.parquet").unlink(),
    "a part is cut": lambda result: (result / "cpu/block-0002.parquet").write_bytes(b"PAR1"),
    "a part has a row less": lambda result: rewritten(
        result / "latency/block-0000.parquet", lambda rows: rows.slice(1)
    ),
    "a part has other columns than the others": lambda result: rewritten(
        result / "flows/block-0000.parquet", named("offered_mbps", "later_mbps")
    ),
    "two parts are exchanged": lambda result: exchange(result / "flows", 0, 1),
    "trials of another block": lambda result: rewritten(result / "trials/block-0001.parquet", block_of(2)),
    "numbers of rows are nonsense": lambda result: rewritten(
        result / "trials/block-0001.parquet", told("nonsense")
    ),
    "numbers of rows are too large": lambda result: rewritten(
        result / "trials/block-0001.parquet", told('{"flows": 9223372036854775808}')
    ),
    "numbers of rows are no numbers": lambda result: rewritten(
        result / "trials/block-0001.parquet", told('{"flows": "many"}')
    ),
    "the journal is missing": lambda result: (result / JOURNAL).unlink(),
    "the journal is none": lambda result: (result / JOURNAL).write_bytes(b"garbage" * 200),
}


def exchange(directory: Path, one: int, other: int) -> None:
    paths = [directory / f"block-{number:04d}.parquet" for number in (one, other)]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_amiss_is_left_to_who_can_tell_what_is_lost(damage: str, result: Path) -> None:
    DAMAGES[damage](result)
    assert at_once(result) is None
    assert Result.open(result).damaged or "other columns" in damage


def test_a_small_one_is_read_block_by_block(result: Path, tmp_path: Path) -> None:
    """It is read at once that has many parts in some table, or many trials."""
    small = tmp_path / "small"
    make(small, trials=len(PLATFORMS) * FEW_BLOCKS, loads_mbps=(10,))
    assert [is_small(each, TABLES) for each in (small, result)] == [True, False]
    (small / "samples").mkdir(exist_ok=True)
    for trial in range(FEW_BLOCKS + 1):
        trial_part_path(small, "samples", 0, trial).touch()
    assert not is_small(small, TABLES)
    shutil.rmtree(small / "samples")
    assert is_small(small, TABLES)
    with (small / JOURNAL).open("ab") as journal:
        journal.truncate(SMALL_JOURNAL_BYTES + 1)
    assert not is_small(small, TABLES)


def test_one_that_is_being_written_is_read_block_by_block(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts may be replaced between the look at them and their reading."""
    monkeypatch.setattr("vtax.results.reader.is_written", lambda _: True)
    monkeypatch.setattr("vtax.results.reader.read_whole", lambda *_: pytest.fail("read at once"))
    manifest = result / "campaign.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"running"'))
    assert Result.open(result).tables["trials"].num_rows == TRIALS
