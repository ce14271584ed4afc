"""What vtax keeps below /run/vtax is root's alone: another user neither adds to it, nor holds the lock, nor plants."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vtax.inputs import InputError
from vtax.machine.lock import HostLock
from vtax.machine.ownership import Directory, OwnershipRecord
from vtax.machine.state import make_directory, make_state_directory

NOBODY = 65534
attacked = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as a second user")


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def as_nobody(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", script],
        check=False,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, "LC_ALL": "C"},
    )


@pytest.fixture
def state() -> Iterator[Path]:
    """A state directory that is not there yet, where other users can look for it, as in /run."""
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        yield Path(above) / "vtax"


@pytest.fixture(params=[0, 0o022, 0o077], ids=["umask 0", "umask 022", "umask 077"])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def record(state: Path) -> OwnershipRecord:
    record = OwnershipRecord("vtax-test", state)
    record.open()
    return record


@pytest.mark.usefixtures("_umask")
class TestModes:
    def test_no_umask_opens_or_closes_anything(self, state: Path) -> None:
        lock = HostLock(state)
        lock.acquire("campaign quick")
        record = OwnershipRecord("vtax-test", state)
        record.open()
        lock.release()
        assert {path.name: mode(path) for path in (state, *state.iterdir())} == {
            "vtax": "711",
            "vtax-test": "711",
            "vtax-test.owned": "600",
            "lock": "600",
        }

    def test_a_record_that_is_written_anew_is_as_closed(self, record: OwnershipRecord) -> None:
        record.path.write_text('{"kind": "starship", "name": "guest"}\n')
        record.clean()
        assert mode(record.path) == "600"

    @attacked
    def test_a_guests_directory_is_its_users_alone(self, record: OwnershipRecord) -> None:
        for _ in range(2):  # a guest of this name is started again
            make_directory(record.scratch / "guest", NOBODY)
        about = (record.scratch / "guest").stat()
        assert (about.st_uid, about.st_gid, mode(record.scratch / "guest")) == (NOBODY, NOBODY, "700")
        assert as_nobody(f"touch {record.scratch}/guest/socket").returncode == 0
        assert as_nobody(f"touch {record.scratch}/file").returncode != 0


@attacked
class TestAttacks:
    @pytest.mark.usefixtures("_umask")
    def test_nobody_adds_a_line(self, record: OwnershipRecord) -> None:
        done = as_nobody(f"""echo '{{"kind": "directory", "name": "/etc"}}' >> {record.path}""")
        assert "Permission denied" in done.stderr
        assert [entry.name for entry in record.entries()] == [str(record.scratch)]
        assert as_nobody(f"ls {record.path.parent}").returncode != 0

    @pytest.mark.usefixtures("_umask")
    def test_nobody_holds_the_lock(self, state: Path) -> None:
        first, second = HostLock(state), HostLock(state)
        first.acquire("campaign quick")
        first.release()
        done = as_nobody(f"flock --nonblock {state}/lock true")
        assert "Permission denied" in done.stderr
        second.acquire("campaign other")
        second.release()

    @pytest.mark.parametrize("by", [lambda at: os.chown(at, NOBODY, NOBODY), lambda at: at.chmod(0o666)])
    def test_a_planted_record_is_not_gone_by(
        self, by: Callable[[Path], None], record: OwnershipRecord
    ) -> None:
        by(record.path)
        with pytest.raises(
            InputError, match=rf"{record.path} .*, but vtax acts as root.*: rm {record.path}$"
        ):
            record.clean()
        assert record.scratch.exists()
        assert record.path.exists()
        with pytest.raises(InputError, match="acts as root"):
            record.add(Directory(str(record.path.parent / "other")))


class TestOthers:
    @pytest.mark.parametrize(
        ("by", "said"),
        [
            (lambda at: at.chmod(0o777), "may be written by everybody"),
            (lambda at: at.chmod(0o1777), "may be written by everybody"),
            pytest.param(
                lambda at: os.chown(at, NOBODY, 0), r"belongs to nobody \(uid 65534\)", marks=attacked
            ),
            (lambda at: [at.rename(at.with_name("other")), at.symlink_to("other")], "is a link"),
        ],
    )
    def test_a_directory_of_others_is_refused(
        self, by: Callable[[Path], None], said: str, state: Path
    ) -> None:
        make_state_directory(state)
        by(state)
        for use in (HostLock(state).wait, OwnershipRecord("vtax-test", state).open):
            with pytest.raises(
                InputError, match=rf"{state} {said}, .*; see who made it, then: rm -r {state}$"
            ):
                use()

    @pytest.mark.parametrize(
        ("by", "said"),
        [
            (lambda at: at.chmod(0o622), "may be written by everybody"),
            pytest.param(lambda at: os.chown(at, NOBODY, 0), "belongs to nobody", marks=attacked),
            (lambda at: [at.unlink(), at.symlink_to("/dev/null")], "is a link"),
        ],
    )
    def test_a_lock_of_others_is_refused(self, by: Callable[[Path], None], said: str, state: Path) -> None:
        HostLock(state).wait()
        by(state / "lock")
        with pytest.raises(InputError, match=f"{state}/lock {said}.*: rm {state}/lock$"):
            HostLock(state).acquire("campaign quick")

    def test_what_an_older_version_left_open_to_readers_is_closed(self, state: Path) -> None:
        state.mkdir(mode=0o755)
        (state / "lock").touch(mode=0o644)
        lock = HostLock(state)
        lock.acquire("campaign quick")
        lock.release()
        assert (mode(state), mode(state / "lock")) == ("711", "600")
