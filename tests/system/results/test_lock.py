"""Who may read a result keeps nobody from writing it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from vtax.inputs import InputError
from vtax.results.files import LOCK, is_written, lock_directory

pytestmark = pytest.mark.system

NOBODY = 65534


@pytest.fixture
def readable() -> Iterator[Path]:
    """A result's directory that everybody may read, unlike tests' own."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def test_a_reader_holds_no_lock_of_a_result(readable: Path) -> None:
    os.close(lock_directory(readable))
    hold = f"exec 3<{readable / LOCK} && flock --nonblock 3; flock --nonblock {readable} true && sleep 60"
    with subprocess.Popen(
        ["sh", "-c", hold], user=NOBODY, group=NOBODY, extra_groups=[], stderr=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stderr is not None
        assert "Permission denied" in reader.stderr.readline()
        os.close(lock_directory(readable))
        reader.kill()


def test_a_second_writer_is_refused_and_a_reader_sees_the_first(readable: Path) -> None:
    held = lock_directory(readable)
    assert is_written(readable)
    with pytest.raises(InputError, match="another campaign is writing here"):
        lock_directory(readable)
    os.close(held)
    assert not is_written(readable)


def test_a_link_in_the_locks_place_is_refused(readable: Path) -> None:
    (readable / LOCK).symlink_to("/etc/passwd")
    with pytest.raises(InputError, match=f"{LOCK}: cannot be locked"):
        lock_directory(readable)
    assert not is_written(readable)
