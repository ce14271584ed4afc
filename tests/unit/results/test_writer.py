"""Committing trials: durable, whole, in order, and recoverable at every instant."""

import signal
import subprocess
import sys
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.helpers.paths import ROOT
from tests.helpers.results.stored import CAMPAIGN, ids, record
from vtax.inputs import InputError
from vtax.results import Result, ResultWriter
from vtax.results.journal import read_journal
from vtax.results.parts import write_part
from vtax.results.schema import TABLES

WRITE_PART = "vtax.results.writer.write_part"


def test_what_is_committed_is_read_back(tmp_path: Path) -> None:
    started = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    with ResultWriter.create(tmp_path / "r", CAMPAIGN) as writer:
        writer.commit(record(0, marks=["backpressured"], reasons=[], started_at=started, intended_mbps=None))
        writer.commit(record(1, block=1))
        assert writer.committed == {0, 1}
    result = Result.open(tmp_path / "r")
    assert result.damaged == []
    trial = result.tables["trials"].to_pylist()[0]
    assert trial["marks"] == ["backpressured"]
    assert trial["reasons"] == []
    assert trial["started_at"] == started
    assert trial["intended_mbps"] is None
    assert trial["wall_s"] is None
    assert result.tables["flows"].select(["trial_id", "stream", "received_mbps"]).to_pylist() == [
        {"trial_id": 0, "stream": 0, "received_mbps": 100.0},
        {"trial_id": 0, "stream": 1, "received_mbps": 50.0},
        {"trial_id": 1, "stream": 0, "received_mbps": 101.0},
        {"trial_id": 1, "stream": 1, "received_mbps": 50.0},
    ]


@pytest.mark.parametrize(
    ("level", "text"), [(2, "2"), ("2", "2"), (True, "true"), (1.5, "1.5"), (None, None)]
)
def test_further_factors_are_text_columns(tmp_path: Path, level: object, text: str | None) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0, vcpus=level))
    assert Result.open(tmp_path).query("SELECT vcpus FROM trials").to_pylist() == [{"vcpus": text}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plattform": "raw"}, "trials: unknown column plattform"),
        ({"streams": "many"}, "trials.streams"),
        ({"streams": 2**40}, "trials.streams"),
    ],
)
def test_a_record_that_does_not_fit_writes_nothing(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        with pytest.raises(ValueError, match=message):
            writer.commit(record(0, **change))
        assert list(tmp_path.glob("*/*.parquet")) == []
        writer.commit(record(0))


def test_rows_of_another_trial_are_refused(tmp_path: Path) -> None:
    stray = record(0)
    stray.flows[0]["trial_id"] = 5
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer, pytest.raises(ValueError, match="row of trial 5"):
        writer.commit(stray)


def test_a_trial_is_committed_once(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
        with pytest.raises(ValueError, match="trial 0 is committed already"):
            writer.commit(record(0))
    assert ids(Result.open(tmp_path)) == [0]


def test_an_occupied_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        ResultWriter.create(tmp_path, CAMPAIGN)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(InputError, match="cannot hold a result"):
        ResultWriter.create(tmp_path / "notes.txt", CAMPAIGN)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN), pytest.raises(InputError, match="another campaign"):
        ResultWriter.resume(tmp_path)
    ResultWriter.resume(tmp_path).close()


def test_campaign_json_is_updated_in_place(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path, {**CAMPAIGN, "status": "running"}) as writer:
        writer.update(status="complete", ceilings=[])
    campaign = Result.open(tmp_path).campaign
    assert campaign == {**CAMPAIGN, "status": "complete", "ceilings": [], "format_version": 1}


@pytest.mark.parametrize("refused", TABLES)
def test_every_file_of_a_commit_may_be_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """Earlier trials stay, the failed one is absent, and it can be repeated with other rows."""

    def failing(path: Path, rows: Any) -> None:
        if path.parent.name == refused:
            raise OSError(28, "No space left on device")
        write_part(path, rows)

    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
        monkeypatch.setattr(WRITE_PART, failing)
        with pytest.raises(OSError, match="No space"):
            writer.commit(record(1))
        monkeypatch.setattr(WRITE_PART, write_part)
        for table in TABLES:
            assert set(ids(Result.open(tmp_path), table)) == {0}
        repeated = record(1)
        repeated.flows = []
        writer.commit(repeated)
    result = Result.open(tmp_path)
    assert result.damaged == []
    assert ids(result) == [0, 1]
    assert set(ids(result, "flows")) == {0}


def test_resuming_drops_what_was_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed_before_trials(path: Path, rows: Any) -> None:
        if path.parent.name == "trials":
            raise KeyboardInterrupt
        write_part(path, rows)

    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(WRITE_PART, killed_before_trials)
            writer.commit(record(1))
    on_disk = tmp_path / "flows" / "block-0000.parquet"
    assert 1 in pq.read_table(on_disk)["trial_id"].to_pylist()
    assert ids(Result.open(tmp_path)) == [0]

    bare = record(1)
    bare.flows = []
    with ResultWriter.resume(tmp_path) as writer:
        assert writer.repaired == []
        assert writer.committed == {0}
        writer.commit(bare)
        assert 1 not in pq.read_table(on_disk)["trial_id"].to_pylist()
        writer.commit(record(2, block=1))
        writer.commit(record(3, block=0))
    result = Result.open(tmp_path)
    assert result.damaged == []
    assert sorted(ids(result)) == [0, 1, 2, 3]
    assert sorted(set(ids(result, "flows"))) == [0, 2, 3]


def test_a_trial_in_its_parts_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the parts and the journal: read at once, and taken into the journal on resuming."""
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        writer.commit(record(0))
        monkeypatch.setattr(writer._journal, "append", lambda entry: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            writer.commit(record(1))
    assert ids(Result.open(tmp_path)) == [0, 1]
    with ResultWriter.resume(tmp_path) as writer:
        assert writer.committed == {0, 1}
        assert [entry.trial_id for entry in read_journal(tmp_path)] == [0, 1]


@pytest.mark.slow
def test_a_campaign_killed_at_any_instant_keeps_what_it_committed(tmp_path: Path) -> None:
    """A process commits, says so, and is killed; its result holds all it said, and is resumed."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.helpers.results.stored import CAMPAIGN, record\n"
        "from vtax.results import ResultWriter\n"
        "writer = ResultWriter.create(Path(sys.argv[1]), CAMPAIGN)\n"
        "for number in range(100_000):\n"
        "    writer.commit(record(number, block=number // 7))\n"
        "    print(number, flush=True)\n"
    )
    for kill_after in (0, 5, 9):
        directory = tmp_path / str(kill_after)
        command = [sys.executable, "-c", program, str(directory)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            while int(process.stdout.readline()) < kill_after:
                pass
            process.send_signal(signal.SIGKILL)
            said = [int(line) for line in process.stdout if line.endswith("\n")]
        last_said = max([kill_after, *said])
        result = Result.open(directory)
        assert result.damaged == []
        read = ids(result)
        assert read in (list(range(last_said + 1)), list(range(last_said + 2)))
        assert sorted(set(ids(result, "flows"))) == read
        with ResultWriter.resume(directory) as writer:
            writer.commit(record(len(read), block=len(read) // 7))
        assert ids(Result.open(directory)) == [*read, len(read)]


@pytest.mark.slow
def test_a_commit_writes_its_block_once_and_no_other(tmp_path: Path) -> None:
    """A campaign of many blocks pays for the trials of one: in bytes, and in as many calls from first to last."""
    noise = np.random.default_rng(1)  # as long as a histogram of 10,000 samples, and harder to compress
    written = []
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        for number in range(90):
            full = record(number, block=number // 30)
            full.cpu = [{"host": "local", "component": f"thread {thread}"} for thread in range(12)]
            histograms = [b64encode(noise.bytes(1500)).decode() for _ in range(3)]
            full.latency = [{"stream": stream, "histogram": text} for stream, text in enumerate(histograms)]
            before = output()
            writer.commit(full)
            written.append(output() - before)
    block_bytes = sum(part.stat().st_size for part in tmp_path.glob("*/block-0002.parquet"))
    first, last = written[29], written[89]
    assert last[1] <= first[1] + 2
    assert last[0] < 1.1 * first[0]
    assert last[0] < 1.1 * block_bytes + 20_000  # and the journal's line


def output() -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Bytes and write calls of this process so far (proc_pid_io(5))."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return np.array([int(told["wchar"]), int(told["syscw"])])


def test_what_a_killed_writer_was_about_to_put_in_place_is_removed(tmp_path: Path) -> None:
    ResultWriter.create(tmp_path, CAMPAIGN).close()
    left = [".campaign.json.0123456789abcdef.tmp", ".journal.f.tmp", "flows/.block-0000.parquet.0.tmp"]
    for name in left:
        (tmp_path / name).write_bytes(b"half")
    before = {path for path in tmp_path.rglob("*") if path.suffix != ".tmp"}
    ResultWriter.resume(tmp_path).close()
    assert set(tmp_path.rglob("*")) == before
