"""Reading a result: only what is committed, nothing beside it, and honest about damage."""

import json
import subprocess
import sys
import threading
from operator import itemgetter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from msgspec import Struct

from tests.helpers.results.stored import CAMPAIGN, ids, record
from tests.helpers.results.synthetic import make_result
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


def test_what_is_made_on_a_connection_is_in_no_query(synthetic: Path) -> None:
    result = Result.open(synthetic)
    with result.connection() as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
        with pytest.raises(InputError, match="mine does not exist"):
            result.query("SELECT * FROM mine")


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE mine (a INTEGER)", "CREATE OR REPLACE TEMP VIEW traced AS SELECT 1"]
)
def test_what_is_explained_changes_nothing(sql: str, synthetic: Path) -> None:
    result = Result.open(synthetic)
    everything = "SELECT table_name FROM duckdb_tables() UNION SELECT sql FROM duckdb_views() ORDER BY 1"
    before = result.query(everything)
    assert result.query(f"EXPLAIN ANALYZE {sql}").num_rows >= 1
    assert result.query(everything) == before


def test_each_result_is_queried_by_itself(synthetic: Path, tmp_path: Path) -> None:
    ResultWriter.create(tmp_path, CAMPAIGN).close()
    counted = "SELECT count(*) AS n FROM untraced"
    full, empty = Result.open(synthetic), Result.open(tmp_path)
    assert [result.rows(counted)[0]["n"] for result in (full, empty, full)] == [13, 0, 13]


FORKS = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from vtax.results import Result

def trials(directory):
    return len(Result.open(directory).rows("SELECT trial_id FROM trials ORDER BY platform"))

directory = Path(sys.argv[1])
assert Result.open(directory).rows("SELECT count(*) AS n FROM trials") == [{"n": 13}]
with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as processes:
    print(processes.submit(trials, directory).result(timeout=30))
"""


def test_a_forked_process_reads_results_too(synthetic: Path) -> None:
    """Of a process of its own: what other tests have mapped in this one may be more than the kernel lets it copy."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(synthetic)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("13\n", 0), done.stderr


def test_rows_are_those_of_a_query(synthetic: Path) -> None:
    result = Result.open(synthetic)
    sql = "SELECT cell, any_value(emulated) AS emulated, list(marks) AS marks FROM cells GROUP BY cell"
    by_cell = itemgetter("cell")
    expected = sorted(result.query(sql).to_pylist(), key=by_cell)
    assert sorted(result.rows(sql), key=by_cell) == expected
    assert sorted(result.columns(sql).to_pylist(), key=by_cell) == expected


def test_what_is_asked_again_is_not_carried_out_again(synthetic: Path) -> None:
    result = Result.open(synthetic)
    sql = "SELECT random() AS n FROM trials"
    rows = result.rows(sql)
    assert result.rows(sql) == rows != result.rows(f"{sql} ")
    rows.clear()
    assert len(result.rows(sql)) == 13
    assert result.columns(sql).equals(result.columns(sql))


class Counted(Struct):
    platform: str
    trials: int


def test_rows_are_read_as_types(synthetic: Path) -> None:
    result = Result.open(synthetic)
    sql = "SELECT platform, count(*) AS trials FROM trials GROUP BY platform ORDER BY platform"
    assert result.read(sql, Counted) == [Counted(**row) for row in result.rows(sql)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT platform FROM trials",
        "SELECT platform, 1 AS trial FROM trials",
        "SELECT 1 AS trials, platform FROM trials",
    ],
)
def test_rows_of_other_columns_are_not_read(sql: str, synthetic: Path) -> None:
    with pytest.raises(TypeError, match="Counted has the columns"):
        Result.open(synthetic).read(sql, Counted)


def test_whole_numbers_of_any_size_are_rows_as_such(synthetic: Path) -> None:
    (row,) = Result.open(synthetic).rows("SELECT sum(frames_sent) AS frames FROM flows")
    assert isinstance(row["frames"], int)


@pytest.mark.parametrize("sql", ["DESCRIBE trials", "SHOW TABLES", "SUMMARIZE cells", "EXPLAIN SELECT 1"])
def test_a_result_describes_itself(synthetic: Path, sql: str) -> None:
    assert Result.open(synthetic).query(sql).num_rows >= 1


def test_a_campaign_without_trials_has_empty_views(tmp_path: Path) -> None:
    ResultWriter.create(tmp_path, CAMPAIGN).close()
    result = Result.open(tmp_path)
    for view in (*TABLES, "cells"):
        assert result.query(f"SELECT * FROM {view}").num_rows == 0  # noqa: S608
    assert "vcpus" in result.tables["trials"].schema.names


@pytest.mark.slow
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


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no result here"):
        Result.open(tmp_path / "nowhere")
    manifest = tmp_path / "campaign.json"
    manifest.write_text("{")
    with pytest.raises(InputError, match=r"campaign.json: damaged"):
        Result.open(tmp_path)
    manifest.write_text(json.dumps({"format_version": "one"}))
    with pytest.raises(InputError, match="format_version is 'one', which no vtax writes"):
        Result.open(tmp_path)
