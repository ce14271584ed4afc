"""The cache: what packages are unpacked to, and what guests start from.

Root and guests' processes run what is in it, so it is written by its owner alone, whatever the umask, and gives nobody
another's rights. Everybody may read it.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from vtax.inputs.trust import ROOT, callers, distrust, distrust_above
from vtax.platforms.contract import PlatformUnusable

HELD = ".held"
"""In a tree: the mark that it is harmless, locked by each process that uses it; its time is that of the last use."""
SCRATCH = "tmp"
"""What the names of directories begin with in which something is half done."""
FORGED = ("security.capability", "system.posix_acl_access", "system.posix_acl_default")
"""Attributes that give rights beside a file's mode."""

_held: dict[Path, int] = {}


def cache_directory() -> Path:
    """VTAX_CACHE, else /var/cache/vtax."""
    return Path(os.environ.get("VTAX_CACHE", "/var/cache/vtax"))


@contextlib.contextmanager
def filling_cache() -> Iterator[None]:
    """Raises PlatformUnusable for a cache that is full or may not be written."""
    try:
        yield
    except OSError as error:
        raise PlatformUnusable(
            f"cannot fill the cache: {error}",
            f"needs 2 GB in {cache_directory()}, or VTAX_CACHE set to another directory",
        ) from error


def check_cache(shelf: str = "") -> None:
    """Raise PlatformUnusable where others than its owner could change the cache, or a shelf of it."""
    if (problem := _problem((cache_directory() / shelf).resolve())) is not None:
        raise PlatformUnusable(
            f"the cache cannot be trusted: {problem}",
            f"needs {cache_directory()} removed, or VTAX_CACHE set to a directory that root alone may write to",
        )


def open_shelf(shelf: str = "") -> Path:
    """Return the cache's directory, or one of its shelves, made where it is missing; raises PlatformUnusable."""
    directory = cache_directory() / shelf
    with filling_cache():
        for missing in [each for each in (directory, *directory.parents) if not each.exists()][::-1]:
            missing.mkdir(mode=0o755, exist_ok=True)
            missing.chmod(0o755)
    check_cache(shelf)
    return directory


@contextlib.contextmanager
def filling(shelf: str) -> Iterator[Path]:
    """Have a shelf alone, and an empty directory on it that goes in the end.

    What killed processes left half done goes first. Raises PlatformUnusable for a shelf that is full, or that others
    could change.
    """
    directory = open_shelf(shelf)
    with filling_cache():
        lock = os.open(cache_directory() / f".{shelf}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for left in directory.glob(f"{SCRATCH}*/"):
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=directory) as scratch:
                yield Path(scratch)
        finally:
            os.close(lock)


def keep_file(shelf: str, name: str, make: Callable[[Path], object], keep: int, mode: int = 0o644) -> Path:
    """Return a file of the cache that `make` writes where it is missing; raises PlatformUnusable.

    Of the shelf's files with the same ending, those remain that were used last, `keep` in number.
    """
    path = open_shelf(shelf) / name
    with filling_cache():
        if not still_kept(path):
            with filling(shelf) as scratch:
                if not path.exists():  # another run may have been faster
                    made = scratch / name
                    make(made)
                    made.chmod(mode)
                    made.rename(path)
                alike = path.parent.glob(f"*{path.suffix}")
                for old in sorted(alike, key=lambda each: each.stat().st_mtime)[:-keep]:
                    old.unlink(missing_ok=True)
    return path


def still_kept(file: Path) -> bool:
    """Use a file of the cache again, if it is there: then it is the last that is removed."""
    with contextlib.suppress(PermissionError):  # where nothing can be written, nothing is removed
        try:
            os.utime(file)
        except FileNotFoundError:
            return False
    return True


def replace_text(path: Path, text: str) -> None:
    """Write a file of the cache, all at once."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as complete:
        complete.write(text)
        os.fchmod(complete.fileno(), 0o644)
    Path(complete.name).rename(path)


def make_harmless(tree: Path) -> None:
    """Have all of a tree be this user's own, for everybody to read, and give nobody rights.

    Set-user-ID and set-group-ID, file capabilities, others' write access and devices go. Links are not followed.
    """
    owner, group = os.getuid(), os.getgid()
    inside = (Path(parent, name) for parent, inner, names in os.walk(tree) for name in (*inner, *names))
    for place in (tree, *inside):
        about = place.lstat()
        if stat.S_IFMT(about.st_mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            place.unlink()
            continue
        if (about.st_uid, about.st_gid) != (owner, group):
            os.chown(place, owner, group, follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            continue
        for attribute in {*FORGED} & {*os.listxattr(place, follow_symlinks=False)}:
            os.removexattr(place, attribute, follow_symlinks=False)
        readable = 0o555 if stat.S_ISDIR(about.st_mode) else 0o444
        if (mode := stat.S_IMODE(about.st_mode) & 0o755 | readable) != stat.S_IMODE(about.st_mode):
            place.chmod(mode)


def mark_harmless(tree: Path) -> None:
    """Make a tree harmless unless it has the mark of that, and mark it."""
    if not (tree / HELD).exists():
        make_harmless(tree)
        (tree / HELD).touch(mode=0o600)


def hold(tree: Path) -> bool:
    """Have a marked tree stay where it is while this process lives; return whether it is there."""
    if tree not in _held:
        try:
            mark = os.open(tree / HELD, os.O_RDONLY | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            return False
        fcntl.flock(mark, fcntl.LOCK_SH)
        _held[tree] = mark
    if not _is(tree / HELD, _held[tree]):  # taken away while this process waited, or since
        os.close(_held.pop(tree))
        return False
    with contextlib.suppress(OSError):  # where nothing can be written, nothing is taken away
        os.utime(_held[tree])
    return True


def last_used(tree: Path) -> float:
    """Return when a process began to use a marked tree."""
    return (tree / HELD).stat().st_mtime


def take_away(tree: Path, to: Path) -> None:
    """Move a marked tree, unless a process holds it."""
    with (tree / HELD).open() as mark, contextlib.suppress(BlockingIOError):
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tree.rename(to)


def _problem(directory: Path) -> str | None:
    """Return who else could change what is in a directory without links; None where nobody can, or it is not there."""
    if not directory.exists():
        return None
    if (problem := distrust(directory, {ROOT, os.getuid()})) is not None:
        return problem
    return distrust_above(directory, {ROOT, os.getuid(), *callers()})


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
