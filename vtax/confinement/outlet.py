"""The file that a command writes: opened before it gives up its rights, and put in its place by who has kept them."""

import contextlib
import errno
import os
import secrets
import signal
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

MODE = 0o644
PLACE = b"p"
FAILED = errno.EIO


class Outlet:
    """A file that is written under another name beside its own, and renamed when it is whole.

    What is there already and no regular file, such as /dev/stdout or a pipe, is written to instead.
    """

    def __init__(self, target: Path) -> None:
        """Open it. OSError where that fails; then nothing stays."""
        self.target = target
        self.place: Callable[[], None] = self.rename
        self._directory: int | None = None
        self._temporary = f".vtax-{secrets.token_hex(8)}"
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            self._file = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
            return
        self._directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(self._temporary, flags, MODE, dir_fd=self._directory)

    def put(self, pieces: Iterable[bytes]) -> None:
        """Write these pieces and have the file in its place, durable. OSError that names it where that fails."""
        try:
            with os.fdopen(self._file, "wb", closefd=False) as file:
                file.writelines(pieces)
            if self._directory is not None:
                os.fsync(self._file)
                self.place()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.target)) from error

    def rename(self) -> None:
        """Have the file in its place."""
        assert self._directory is not None  # noqa: S101 - else there is nothing to rename
        os.rename(self._temporary, self.target.name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        os.fsync(self._directory)

    def discard(self) -> None:
        """Remove what is not in its place."""
        if self._directory is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._directory)


class Keeper:
    """A process that keeps the rights which its parent gives up: it puts a file in place, and tidies up at the end.

    It is asked for one thing, reads nothing else, and lives as long as its parent, however that ends.
    """

    def __init__(self, place: Callable[[], None], tidy: Callable[[], None]) -> None:
        asking, self._ask = os.pipe()
        self._answer, answering = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            os.close(self._answer)
            _serve(asking, answering, place, tidy)
        os.close(asking)
        os.close(answering)

    def place(self) -> None:
        """Have the file put in place. OSError where that fails."""
        os.write(self._ask, PLACE)
        failed = (os.read(self._answer, 1) or bytes([FAILED]))[0]
        if failed:
            raise OSError(failed, os.strerror(failed))

    def end(self) -> None:
        """Have it tidy up and end."""
        os.close(self._ask)
        os.close(self._answer)
        os.waitpid(self._pid, 0)


def _serve(asking: int, answering: int, place: Callable[[], None], tidy: Callable[[], None]) -> NoReturn:
    """Do what a Keeper does in its process, which ends here and never runs what its parent goes on with."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # standard error stays open: who reads it to its end finds all tidied up
            os.dup2(nothing, stream)
        while os.read(asking, 1):
            failed = 0
            try:
                place()
            except OSError as error:
                failed = error.errno or FAILED
            os.write(answering, bytes([failed]))
        tidy()
    finally:
        os._exit(0)
