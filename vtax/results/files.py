"""Replacing a file so that at every instant, a crash included, it holds either the old or the new content."""

import contextlib
import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from vtax.inputs import InputError

SQLITE_MEANS = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_READONLY: errno.EROFS}
"""What SQLite calls otherwise than the system."""


class DiskError(OSError):
    """The disk of a result refused: the message says where, why, and how a campaign goes on.

    `refused` says where and why alone, for those who write a result without a campaign.
    """

    refused: str = ""


def disk_error(refused: str, next_step: str) -> DiskError:
    """Return an error of what the disk refused, with what to do next."""
    error = DiskError(f"{refused}; {next_step}")
    error.refused = refused
    return error


@contextlib.contextmanager
def disk_errors(directory: Path) -> Iterator[None]:
    """Raise what the disk or SQLite refuses in the result in `directory` as DiskError."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        why = _system_words(error) or str(error)
        where = getattr(error, "filename", None) or directory
        read_only = "read-only" in why.lower() or "readonly" in why.lower()
        remedy = "Mount it for writing again" if read_only else "Make room there"
        raise disk_error(
            f"{where}: {why}",
            f"completed trials are kept and can be shown. {remedy}, then go on with: "
            f"vtax run SCENARIO --resume {directory}",
        ) from error


def _system_words(error: OSError | sqlite3.Error) -> str | None:
    if isinstance(error, OSError):
        return error.strerror
    number = SQLITE_MEANS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return None if number is None else os.strerror(number)


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, make it durable, and rename it into place; durable on return.

    OSError that names `path` where that fails; then nothing of it stays.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable: a rename is on disk only after this."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_empty_directory(directory: Path) -> None:
    """Make `directory` with its parents. InputError where it holds something already or cannot be made."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        occupied = any(directory.iterdir())
    except OSError as error:
        raise InputError(
            f"{directory}: cannot hold a result ({error.strerror}); name another directory"
        ) from None
    if occupied:
        raise InputError(f"{directory}: not empty; name a directory that is new or empty")


def lock_directory(directory: Path) -> int:
    """Lock the directory against a second writer; the kernel unlocks it when this process ends."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"{directory}: another campaign is writing here; wait for its end or name another directory"
        ) from None
    return descriptor


def is_written(directory: Path) -> bool:
    """Whether a writer holds the directory now."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
