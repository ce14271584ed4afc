"""/run/vtax: what vtax keeps on a machine while it makes things there. It is root's alone, whatever the umask."""

import os
from pathlib import Path

from vtax.inputs import InputError
from vtax.inputs.trust import ROOT, distrust

STATE_DIRECTORY = Path("/run/vtax")
PASSABLE = 0o711
"""Mode of directories: other users reach what is theirs below, by its name, and list nothing."""
PRIVATE = 0o600
"""Mode of files; even to read the lock would be enough to hold it (flock(2))."""


def make_state_directory(path: Path) -> None:
    """Make the directory of records and lock, or close one that is open to readers.

    Raises InputError where it belongs to another user or others may write to it.
    """
    path.mkdir(mode=PASSABLE, parents=True, exist_ok=True)
    if (problem := _problem(path)) is not None:
        raise InputError(
            f"{problem}, but vtax acts as root on what it holds; see who made it, then: rm -r {path}"
        )
    path.chmod(PASSABLE)


def make_directory(path: Path, user: int | None = None) -> None:
    """Make a directory in which others can list nothing; one of `user` is that user's, and closed to all others.

    One that is there becomes the same.
    """
    path.mkdir(mode=PASSABLE, exist_ok=True)
    path.chmod(PASSABLE if user is None else 0o700)
    if user is not None:
        os.chown(path, user, user)


def open_private(path: Path) -> int:
    """Return a descriptor of a file to be read and appended to, made where it is not there.

    Raises InputError for a file of another user, or one that others may write to.
    """
    if path.is_symlink() or path.exists():
        require_own(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, PRIVATE)
    os.fchmod(descriptor, PRIVATE)
    return descriptor


def require_own(path: Path) -> None:
    """Raise InputError for a file of another user, a link, or one that others may write to."""
    if (problem := _problem(path)) is not None:
        raise InputError(
            f"{problem}, but vtax acts as root on what it says; see who made it, then: rm {path}"
        )


def _problem(path: Path) -> str | None:
    """Return who else has a hand in a file or directory; tests have state of their own, whoever runs them."""
    if path.is_symlink():
        return f"{path} is a link"
    return distrust(path, {ROOT, os.geteuid()})
