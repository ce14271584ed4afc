"""Files that others name: nothing but regular ones of their own directory is read, with openat2 and without."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from vtax.inputs import InputError, beneath
from vtax.inputs.beneath import read_beneath

SECRET = b"root alone"


@pytest.fixture(params=["openat2", "no such call", "filtered"])
def directory(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory beside a secret, on a kernel that has the call, and on one that does not."""
    if request.param != "openat2":
        number = errno.ENOSYS if request.param == "no such call" else errno.EPERM

        def lacking(place: int, name: bytes) -> NoReturn:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(beneath, "_openat2", lacking)
    (tmp_path / "secret").write_bytes(SECRET)
    own = tmp_path / "own"
    (own / "below").mkdir(parents=True)
    (own / "file").write_bytes(b"content")
    (own / "below/file").write_bytes(b"deeper")
    return own


def test_regular_files_are_read(directory: Path) -> None:
    assert read_beneath(directory, "file", 7) == b"content"
    assert read_beneath(directory, "below/file", 7) == b"deeper"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("link", lambda own: (own / "link").symlink_to(own.parent / "secret")),
        ("link", lambda own: (own / "link").symlink_to("file")),
        ("link/secret", lambda own: (own / "link").symlink_to(own.parent)),
        ("below/link", lambda own: (own / "below/link").symlink_to("../../secret")),
        ("link", lambda own: (own / "link").symlink_to("/proc/self/exe")),
        ("../secret", lambda _: None),
        ("below/../../secret", lambda _: None),
        ("/etc/passwd", lambda _: None),
        ("pipe", lambda own: os.mkfifo(own / "pipe")),
        ("below", lambda _: None),
        ("nothing", lambda _: None),
        ("socket", lambda own: socket.socket(socket.AF_UNIX).bind(str(own / "socket"))),
        ("file\0", lambda _: None),
    ],
)
def test_nothing_else_is(
    name: str, make: Callable[[Path], object], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory)
    make(directory)
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(InputError, match="cannot be read"):
        read_beneath(directory, name, 1 << 20)
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_large_file_is_refused(directory: Path) -> None:
    with pytest.raises(InputError, match="larger than 6 bytes"):
        read_beneath(directory, "file", 6)


def test_this_kernel_has_the_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    place = os.open(tmp_path, os.O_PATH)
    try:
        opened = beneath._openat2(place, b"file")
        assert os.read(opened, 9) == b"content"
        os.close(opened)
    finally:
        os.close(place)
