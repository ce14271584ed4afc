"""Reading a result: only what is committed, nothing beside it, and honest about damage."""

import json
import sqlite3
import threading
from pathlib import Path
from shutil import copytree

import duckdb
import pyarrow as pa
import pytest

from tests.synthetic import make_result
from tests.test_results_writer import CAMPAIGN, ids, record
from vtax.inputs import InputError
from vtax.results import Result, ResultWriter
from vtax.results.schema import TABLES

UNREACHABLE = pa.table({"python": [1]})


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_result(
        tmp_path_factory.mktemp("results") / "synthetic",
        platforms=("raw", "qemu-virtio"),
        streams=(2,),
        frame_bytes=(64,),
        loads=(100.0, None),
        repetitions=3,
    )


def test_cells_has_a_row_for_each_flow_of_a_usable_trial(synthetic: Path) -> None:
    result = Result.open(synthetic)
    assert result.query(
        "SELECT verdict, count(*) AS n FROM trials GROUP BY ALL ORDER BY ALL"
    ).to_pylist() == [
        {"verdict": "invalid", "n": 1},
        {"verdict": "suspect", "n": 1},
        {"verdict": "valid", "n": 11},
    ]
    assert result.query("SELECT verdict, count(*) AS n FROM cells GROUP BY ALL ORDER BY ALL").to_pylist() == [
        {"verdict": "suspect", "n": 2},
        {"verdict": "valid", "n": 22},
    ]
    names = result.query("SELECT * FROM cells LIMIT 0").schema.names
    assert len(names) == len(set(names))
    assert {"intended_mbps", "flow_intended_mbps", "duration_s", "flow_duration_s"} <= set(names)


def test_max_is_null_and_raw_is_faster(synthetic: Path) -> None:
    rows = Result.open(synthetic).query(
        "SELECT platform, avg(received_mbps) AS mbps FROM cells WHERE intended_mbps IS NULL "
        "GROUP BY platform ORDER BY mbps"
    )
    assert rows["platform"].to_pylist() == ["qemu-virtio", "raw"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM UNREACHABLE",
        "COPY trials TO '/tmp/vtax-must-not-exist.csv'",
        "ATTACH '/tmp/vtax-must-not-exist.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "CREATE TABLE mine (a INTEGER)",
        "DROP VIEW cells",
        "SELECT 1; SELECT 2",
        "SELECT no_such_column FROM trials",
        "SELEC",
        "",
    ],
)
def test_a_query_reaches_nothing_but_the_result(synthetic: Path, sql: str) -> None:
    result = Result.open(synthetic)
    with pytest.raises(InputError, match="query: "):
        result.query(sql)
    assert result.query("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": 13}]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY trials TO '/tmp/vtax-must-not-exist.csv'",
        "ATTACH '/tmp/vtax-must-not-exist.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET temp_directory = '/tmp'",
        "SELECT * FROM UNREACHABLE",
    ],
)
def test_a_connection_has_no_way_out_either(synthetic: Path, sql: str) -> None:
    with Result.open(synthetic).connection() as connection, pytest.raises(duckdb.Error):
        connection.execute(sql)
    assert not list(Path("/tmp").glob("vtax-must-not-exist*"))  # noqa: S108


@pytest.mark.parametrize("sql", ["DESCRIBE trials", "SHOW TABLES", "SUMMARIZE cells", "EXPLAIN SELECT 1"])
def test_a_result_describes_itself(synthetic: Path, sql: str) -> None:
    assert Result.open(synthetic).query(sql).num_rows >= 1


def test_a_campaign_without_trials_has_empty_views(tmp_path: Path) -> None:
    ResultWriter.create(tmp_path, CAMPAIGN).close()
    result = Result.open(tmp_path)
    for view in (*TABLES, "cells"):
        assert result.query(f"SELECT * FROM {view}").num_rows == 0  # noqa: S608
    assert "vcpus" in result.tables["trials"].schema.names


def test_reading_while_a_campaign_writes_is_consistent(tmp_path: Path) -> None:
    """Every snapshot holds the trials 0 to k, whole, for a k that never falls."""
    written = threading.Event()

    def write() -> None:
        with ResultWriter.create(tmp_path / "r", CAMPAIGN) as writer:
            writer.commit(record(0))
            written.set()
            for number in range(1, 40):
                writer.commit(record(number, block=number // 8))

    campaign = threading.Thread(target=write)
    campaign.start()
    assert written.wait(timeout=30)
    sizes = []
    while campaign.is_alive():
        result = Result.open(tmp_path / "r")
        assert result.damaged == []
        trials = ids(result)
        assert trials == list(range(len(trials)))
        for table in TABLES:
            assert sorted(set(ids(result, table))) == trials
        sizes.append(len(trials))
    campaign.join()
    assert sizes == sorted(sizes)
    assert ids(Result.open(tmp_path / "r")) == list(range(40))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("damage", ["missing", "truncated", "another block's"])
def test_a_damaged_part_is_named_and_its_block_left_out(
    synthetic: Path, tmp_path: Path, table: str, damage: str
) -> None:
    directory = copytree(synthetic, tmp_path / "copy")
    part = directory / table / "block-0001.parquet"
    if damage == "missing":
        part.unlink()
    elif damage == "truncated":
        part.write_bytes(part.read_bytes()[:-100])
    else:
        part.write_bytes((directory / table / "block-0002.parquet").read_bytes())
    result = Result.open(directory)
    assert len(result.damaged) == 1
    assert str(part) in result.damaged[0]
    assert "4 trials of block 1 are left out" in result.damaged[0]
    assert result.query("SELECT DISTINCT block FROM trials ORDER BY block")["block"].to_pylist() == [0, 2]
    assert set(ids(result, "flows")) == set(ids(result))


def test_nothing_is_added_to_a_damaged_block(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
    (tmp_path / "flows" / "block-0000.parquet").write_bytes(b"PAR1")
    with ResultWriter.resume(tmp_path) as writer:
        with pytest.raises(InputError, match=r"flows/block-0000.parquet: .* nothing can be added"):
            writer.commit(record(1))
        writer.commit(record(1, block=1))


def test_a_damaged_journal_is_named(synthetic: Path, tmp_path: Path) -> None:
    journal = copytree(synthetic, tmp_path / "copy") / "journal.sqlite"
    journal.write_bytes(b"\0" * 4096 + journal.read_bytes()[4096:])
    with pytest.raises(InputError, match=r"journal.sqlite: damaged .* Any Parquet reader"):
        Result.open(journal.parent)
    journal.unlink()
    with pytest.raises(InputError, match=r"journal.sqlite: missing"):
        Result.open(journal.parent)
    assert not journal.exists()


def test_a_journal_row_that_makes_no_sense_is_damage(synthetic: Path, tmp_path: Path) -> None:
    directory = copytree(synthetic, tmp_path / "copy")
    with sqlite3.connect(directory / "journal.sqlite") as database:
        database.execute("UPDATE trials SET rows = '[]' WHERE trial_id = 0")
    with pytest.raises(InputError, match=r"journal.sqlite: damaged"):
        Result.open(directory)


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no result here"):
        Result.open(tmp_path / "nowhere")
    manifest = tmp_path / "campaign.json"
    manifest.write_text("{")
    with pytest.raises(InputError, match=r"campaign.json: damaged"):
        Result.open(tmp_path)
    manifest.write_text(json.dumps({"format_version": 2}))
    with pytest.raises(InputError, match="format_version is 2; this vtax reads 1"):
        Result.open(tmp_path)
