"""Results of other versions: an earlier one's are read, a later one's as far as they are understood."""

import json
from pathlib import Path
from shutil import copytree, rmtree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.paths import DATA
from tests.helpers.results.stored import CAMPAIGN, ids, record
from vtax.inputs import InputError
from vtax.results import Result, ResultWriter, TrialRecord
from vtax.results.parts import write_part
from vtax.results.schema import TABLES
from vtax.views import as_json, summarise, write_report


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A real campaign as vtax 0.1.0 wrote it, with a journal by SQLite: raw and container, 10 trials."""
    return copytree(DATA / "result-0.1.0", tmp_path / "earlier")


@pytest.fixture
def current(tmp_path: Path) -> Path:
    with ResultWriter.create(tmp_path / "current", CAMPAIGN) as writer:
        for number in range(4):
            writer.commit(record(number, block=number // 2))
    return tmp_path / "current"


def test_a_result_of_the_first_version_is_read(earlier: Path) -> None:
    result = Result.open(earlier)
    (damage,) = result.damaged
    assert damage.startswith(f"{earlier}/journal: missing; the trials come from the Parquet parts instead")
    assert ids(result) == list(range(1, 11))
    rates = result.query(
        "SELECT platform, avg(received_mbps) AS mbps FROM cells WHERE intended_mbps = 5 GROUP BY 1 ORDER BY 1"
    ).to_pylist()
    assert [row["platform"] for row in rates] == ["container", "raw"]
    assert [row["mbps"] for row in rates] == pytest.approx([5, 5], rel=0.02)
    (note,) = result.notes
    lacking = "canary, cpu.guest, cpu.samples and 79 more"
    assert note == f"written by an earlier vtax, without {lacking}: read as null or empty"
    assert as_json(result)["throughput"]
    assert write_report(result).stat().st_size > 100_000
    assert any(caveat.subject == "Result of another version" for caveat in summarise(result).caveats)


def test_a_result_of_the_first_version_is_resumed(earlier: Path) -> None:
    with ResultWriter.resume(earlier) as writer:
        (repaired,) = writer.repaired
        assert repaired.startswith(f"{earlier}/journal: missing")
        assert writer.committed == set(range(1, 11))
        writer.commit(record_of_earlier(11))
    result = Result.open(earlier)
    assert result.damaged == []
    assert ids(result) == list(range(1, 12))


def test_a_damaged_result_of_the_first_version_is_measured_again(earlier: Path) -> None:
    part = earlier / "latency" / "block-0000.parquet"
    part.write_bytes(part.read_bytes()[:-9])
    assert ids(Result.open(earlier)) == list(range(1, 11))
    with ResultWriter.resume(earlier) as writer:
        assert writer.committed == set()
        assert str(part) in writer.repaired[1]


def record_of_earlier(number: int) -> TrialRecord:
    full = record(number)
    full.trial["cell"] = "platform=raw intended_mbps=5"
    return full


def test_columns_and_tables_that_came_later_are_null_and_empty(current: Path) -> None:
    """A result from before latency was kept, and before flows had `blocked`."""
    rmtree(current / "latency")
    for part in (current / "flows").iterdir():
        write_part(part, pq.read_table(part).drop_columns(["blocked"]))
    for part in (current / "trials").iterdir():
        write_part(part, pq.read_table(part).drop_columns(["row_counts"]))
    (current / "journal").unlink()
    result = Result.open(current)
    assert len(result.damaged) == 1  # the journal, which an earlier vtax would have written without latency
    assert ids(result) == [0, 1, 2, 3]
    assert result.tables["latency"].num_rows == 0
    assert result.query("SELECT DISTINCT blocked FROM flows").to_pylist() == [{"blocked": None}]
    (note,) = result.notes
    assert "without flows.blocked, latency, trials.row_counts" in note
    with ResultWriter.resume(current) as writer:
        writer.commit(record(4, block=1))
    assert ids(Result.open(current), "latency") == [4]


def test_what_a_later_version_adds_is_left_out_with_a_note(current: Path) -> None:
    for part in (current / "flows").iterdir():
        rows = pq.read_table(part)
        write_part(part, rows.append_column("jitter_ns", pa.nulls(rows.num_rows, pa.float64())))
    for part in (current / "trials").iterdir():
        rows = pq.read_table(part)
        counts = [json.dumps({**json.loads(text), "waits": 3}) for text in rows["row_counts"].to_pylist()]
        place = rows.schema.get_field_index("row_counts")
        write_part(part, rows.set_column(place, rows.schema.field(place), pa.array(counts)))
    result = Result.open(current)
    assert result.damaged == []
    assert ids(result) == [0, 1, 2, 3]
    (note,) = result.notes
    assert "written by a later vtax, with flows.jitter_ns, waits" in note
    with pytest.raises(InputError, match=r"flows\.jitter_ns.* resume it with the vtax that wrote it"):
        ResultWriter.resume(current)
    assert "jitter_ns" in pq.read_table(current / "flows" / "block-0000.parquet").column_names


def test_a_format_that_cannot_be_read_says_what_to_do(current: Path) -> None:
    manifest = current / "campaign.json"
    manifest.write_text(json.dumps({"format_version": 2, "vtax_version": "3.0"}))
    with pytest.raises(
        InputError, match=r"format_version is 2, this vtax reads up to 1; .*\(3\.0\) or a later"
    ):
        Result.open(current)
    with pytest.raises(InputError, match="format_version is 2"):
        ResultWriter.resume(current)
    assert all((current / table).is_dir() for table in TABLES)
