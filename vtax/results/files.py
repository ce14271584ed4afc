"""Replacing a file so that at every instant, a crash included, it holds either the old or the new content."""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from vtax.inputs import InputError

FILES = "files"
"""Where a result has the files that its scenario names."""
LOCK = ".lock"
"""Whom a result is written by holds this file."""
ANOTHERS = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EACCES, errno.EPERM)
"""What opening answers of a link, a directory, a pipe, and a file of another user's."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a file is opened that must not be there yet, not even as a link."""


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
    """Raise what the disk refuses in the result in `directory` as DiskError."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        where = error.filename or directory
        read_only = "read-only" in why.lower()
        fix = "Mount it for writing again" if read_only else "Make room there"
        raise disk_error(
            f"{where}: {why}",
            f"completed trials are kept and can be shown. {fix}, then go on with: "
            f"vtax run SCENARIO --resume {directory}",
        ) from error


def open_file(path: Path, how: int = os.O_RDONLY) -> int:
    """Open a regular file that is there. OSError where it is anything else: a link, or a pipe, which would wait."""
    problem = OSError(errno.EINVAL, "is no regular file", str(path))
    if not is_regular(path):  # a device may act when it is opened
        raise problem
    descriptor = os.open(path, how | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise problem
    return descriptor


def is_regular(path: Path) -> bool:
    """Whether it is a file and neither a link to one nor anything else. FileNotFoundError where it is missing."""
    return stat.S_ISREG(path.lstat().st_mode)


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return what a regular file holds. OSError where it is anything else, or larger."""
    with os.fdopen(open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise OSError(errno.EFBIG, f"is larger than {most_bytes >> 20} MiB", str(path))
        return file.read(size)


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, make it durable, and rename it into place; durable on return.

    OSError that names `path` where that fails; then nothing of it stays. The name beside it cannot be guessed, so that
    nobody has a link there before.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with os.fdopen(os.open(temporary, NEW_FILE, 0o666), "wb") as file:
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


def make_directory(directory: Path) -> None:
    """Make `directory` with its parents, where they are missing; their names are durable on return."""
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for place in reversed(missing):
        sync_directory(place.parent)


def remove_file(path: Path) -> None:
    """Remove a file, where there is one; durable on return."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    sync_directory(path.parent)


def remove_leftovers(directory: Path) -> None:
    """Remove what a killed writer left of files of a result that it was about to replace."""
    for pattern in ("*/.*.tmp", ".campaign.json.*.tmp", ".journal.*.tmp"):
        for path in directory.glob(pattern):
            path.unlink(missing_ok=True)


def create_empty_directory(directory: Path) -> None:
    """Make `directory` with its parents. InputError where it holds something already or cannot be made."""
    try:
        make_directory(directory)
        occupied = any(directory.iterdir())
    except OSError as error:
        raise InputError(
            f"{directory}: cannot hold a result ({error.strerror}); name another directory"
        ) from None
    if occupied:
        raise InputError(f"{directory}: not empty; name a directory that is new or empty")


def lock_directory(directory: Path) -> int:
    """Lock a result against a second writer; the kernel unlocks it when this process ends.

    By a file that others cannot open: who may read the result could else hold the lock. InputError where another
    campaign has it, or it is no file of this user's; OSError where the disk refuses.
    """
    path = directory / LOCK
    try:
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        if error.errno not in ANOTHERS:
            raise
        raise InputError(
            f"{path}: cannot be locked ({error.strerror}); remove it where it is no file"
        ) from None
    try:
        os.fchmod(descriptor, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"{directory}: another campaign is writing here; wait for its end or name another directory"
        ) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_written(directory: Path) -> bool:
    """Whether a writer holds a result now; True where that cannot be seen, as of another user's."""
    try:
        descriptor = open_file(directory / LOCK)
    except PermissionError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
