"""One campaign holds a host at a time."""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from vtax.inputs import InputError
from vtax.machine.state import STATE_DIRECTORY, make_state_directory, open_private

TRY_AGAIN_S = 0.1


class _Holder(Struct):
    pid: int | None = None
    purpose: str | None = None


class HostLock:
    """An flock on /run/vtax/lock; the kernel drops it with the process, however that ends."""

    def __init__(self, directory: Path = STATE_DIRECTORY) -> None:
        self._path = directory / "lock"
        self._file: IO[str] | None = None

    def acquire(self, purpose: str, patience_s: float = 0.0) -> None:
        """Take the lock, or raise InputError that names the holder and what it does.

        With `patience_s`, it is tried again for so long.
        """
        handle = self._open()
        if not _locked(handle, time.monotonic() + patience_s):
            handle.seek(0)
            holder = _parse(handle.read())
            handle.close()
            raise InputError(
                f"this host is in use by process {holder.pid or 'unknown'} ({holder.purpose or 'unknown'}); "
                "wait until it ends, or stop it"
            )
        handle.seek(0)
        handle.truncate()
        handle.write(msgspec.json.encode(_Holder(os.getpid(), purpose)).decode())
        handle.flush()
        self._file = handle

    def wait(self) -> None:
        """Return when nobody has the lock; another may take it at once."""
        with self._open() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let the next campaign in."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> IO[str]:
        make_state_directory(self._path.parent)
        return os.fdopen(open_private(self._path), "a+", errors="replace")


def _locked(handle: IO[str], deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(TRY_AGAIN_S)


def _parse(text: str) -> _Holder:
    try:
        return msgspec.json.decode(text, type=_Holder)
    except (msgspec.DecodeError, RecursionError):
        return _Holder()
