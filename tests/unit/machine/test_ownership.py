"""What a run owns is written down before it is made, and removed by that record only."""

import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vtax.inputs import InputError
from vtax.machine.lock import HostLock
from vtax.machine.ownership import Directory, Owned, OwnershipRecord, Process, run_removal, stale_records
from vtax.machine.pidfd import await_end, process_start, stop_process


@pytest.fixture
def record(tmp_path: Path) -> OwnershipRecord:
    record = OwnershipRecord("vtax-test", tmp_path)
    record.open()
    return record


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


class Container(Owned, frozen=True, tag="test's container"):
    """A file, which a runtime that keeps it as its state can remove or not."""

    runtime: str = ""

    @property
    def needs(self) -> list[Path]:
        return [Path(self.name)]

    def is_there(self) -> bool:
        return Path(self.name).exists()

    def remove(self) -> None:
        run_removal([self.runtime, self.name])


def test_clean_removes_what_was_made_newest_first(record: OwnershipRecord, tmp_path: Path) -> None:
    other = tmp_path / "other"
    record.add(Directory(str(other)))
    other.mkdir()
    removed = record.clean()
    assert [str(entry) for entry in removed] == [f"directory {other}", f"directory {record.scratch}"]
    assert list(tmp_path.iterdir()) == []


def test_clean_names_only_what_was_still_there(record: OwnershipRecord, tmp_path: Path) -> None:
    record.add(Directory(str(tmp_path / "never made")))
    assert [entry.name for entry in record.clean()] == [str(record.scratch)]


def test_one_failing_removal_blocks_no_other(
    record: OwnershipRecord, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other, stuck, container = tmp_path / "other", tmp_path / "a file", record.scratch / "container"
    container.touch()
    record.add(Directory(str(other)))
    other.mkdir()
    record.add(Container(str(container), "/nowhere/runc"))
    record.add(Directory(str(stuck)))
    stuck.write_text("rmtree removes no files")

    assert [entry.name for entry in record.clean()] == [str(other)]
    assert not other.exists()
    assert [entry.name for entry, _ in record.failed] == [str(stuck), str(container), str(record.scratch)]
    assert f"test's container {container} is still there: FileNotFoundError" in caplog.text
    assert (
        f"directory {record.scratch} is still there: OSError: test's container {container} may" in caplog.text
    )
    assert container.exists(), "without the runtime's state its container could never be removed"

    again = OwnershipRecord(record.run, tmp_path)
    assert [entry.kind for entry in again.entries()] == ["directory", "test's container", "directory"]
    stuck.unlink()
    container.unlink()
    assert [entry.name for entry in again.clean()] == [str(record.scratch)]
    assert not again.failed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("runtime", "why"), [("true", "changed nothing"), ("false", "^false /.* exited 1$")])
def test_a_runtime_that_deletes_nothing_is_a_failure(record: OwnershipRecord, runtime: str, why: str) -> None:
    container = record.scratch / "container"
    record.add(Container(str(container), runtime))
    container.touch()
    assert record.clean() == []
    assert re.search(why, str(record.failed[0][1]))


def test_a_later_process_removes_what_it_finds_in_the_record(record: OwnershipRecord, tmp_path: Path) -> None:
    thing = tmp_path / "thing"
    thing.touch()
    record.add(Container(str(thing), "rm"))
    record.add(Container(str(tmp_path / "never made"), "/nowhere/runc"))
    later = OwnershipRecord(record.run, tmp_path)
    assert [entry.name for entry in later.clean()] == [str(thing), str(record.scratch)]
    assert not later.failed
    assert list(tmp_path.iterdir()) == []


def test_what_nothing_can_remove_is_named_and_kept_with_all_that_it_may_need(
    record: OwnershipRecord, tmp_path: Path
) -> None:
    with record.path.open("a") as file:
        file.write('{"kind": "starship", "name": "guest", "warp": 9}\n')
    for again in (record, OwnershipRecord(record.run, tmp_path)):
        assert again.clean() == []
        assert [entry.name for entry, _ in again.failed] == ["guest", str(record.scratch)]
        assert "this vtax knows no such thing; remove it by hand" in str(again.failed[0][1])
        assert str(record.path) in str(again.failed[0][1])
    assert '"warp": 9' in record.path.read_text()
    assert record.scratch.exists()


def test_a_recorded_process_is_ended(record: OwnershipRecord) -> None:
    process = sleeper()
    record.add_process(process.pid, "sleeper")
    assert any(isinstance(entry, Process) for entry in record.clean())
    assert process.wait(5) != 0


def test_a_recycled_process_id_is_left_alone() -> None:
    process = sleeper()
    try:
        assert not stop_process(process.pid, process_start(process.pid) + 1)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_process_that_has_ended_is_not_one_that_was_stopped() -> None:
    process = sleeper()
    started = process_start(process.pid)
    assert not await_end(process.pid, started, 0.0)
    process.kill()
    assert await_end(process.pid, started, 10.0)
    assert not stop_process(process.pid, started), "nobody has waited for it yet"
    process.wait()
    assert not stop_process(process.pid, started)
    assert await_end(process.pid, started, 0.0)
    assert not stop_process(0, 0)


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    deaf = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert stop_process(process.pid, process_start(process.pid), grace_s=0.01)
        assert process.wait(10) == -signal.SIGKILL


def test_a_line_cut_short_is_passed_over(record: OwnershipRecord) -> None:
    with record.path.open("a") as file:
        file.write('{"kind": "directory", "name": "/tm')
    assert [entry.kind for entry in record.entries()] == ["directory"]


def test_an_entry_that_no_room_is_left_for_is_an_error_and_swallows_no_other(
    record: OwnershipRecord, tmp_path: Path
) -> None:
    before, limits = record.path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before + 20, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            record.add(Directory(str(tmp_path / "first")))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert record.path.stat().st_size == before + 20, "a part of it was written"
    second = tmp_path / "second"
    record.add(Directory(str(second)))
    second.mkdir()
    assert [entry.name for entry in record.clean()] == [str(second), str(record.scratch)]
    assert list(tmp_path.iterdir()) == []


def test_stale_records_are_found(record: OwnershipRecord) -> None:
    assert [stale.run for stale in stale_records(record.path.parent)] == ["vtax-test"]


def test_the_second_campaign_is_told_who_holds_the_host(tmp_path: Path) -> None:
    first, second = HostLock(tmp_path), HostLock(tmp_path)
    first.acquire("campaign quick")
    with pytest.raises(InputError, match=r"in use by process \d+ \(campaign quick\)"):
        second.acquire("campaign other")
    first.release()
    second.acquire("campaign other")
    second.release()
