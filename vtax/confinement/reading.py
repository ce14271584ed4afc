"""What a command that reads results calls first; each keeps the rights for another kind of output."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from vtax.confinement import Process, landlock
from vtax.confinement.landlock import EXECUTE, OF_A_BROWSER, READ, WRITE, below
from vtax.confinement.outlet import Keeper, Outlet
from vtax.confinement.places import DEVICES, SYSTEM, browsers, code
from vtax.confinement.user import (
    User,
    acting_as,
    become,
    forgo_capabilities,
    nobody_reading,
    owner_of,
)
from vtax.inputs import InputError

BROWSER_SINCE = 2
"""The first version of Landlock that lets a file be renamed into another directory, as figures are."""
SCRATCH = ("TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
"""The variables that name where a browser writes beside its profile."""


def confine(results: Sequence[Path]) -> None:
    """Keep the rights that reading these results takes, and none to write a file."""
    if Process.is_own:
        _restrict(results, owner_of(results), {})


@contextlib.contextmanager
def writing_file(results: Sequence[Path], target: Path, *, in_new: bool = False) -> Iterator[Outlet]:
    """Open `target`, its directory made before where `in_new` says so, and keep the rights to read these results.

    Root opens it as the user whom the results belong to, or where that user may not, as itself, who named it. OSError
    where it cannot be opened.
    """
    user = writer = owner_of(results) if Process.is_own else None
    is_new = in_new and not target.parent.exists()
    try:
        with acting_as(user):
            outlet = _opened(target, in_new)
    except PermissionError:
        if user is None:
            raise
        writer, outlet = None, _opened(target, in_new)

    def tidy() -> None:
        with acting_as(writer):
            outlet.discard()
            if is_new:
                _remove_empty(target.parent)

    with _kept(outlet.rename, tidy) as outlet.place:
        if Process.is_own:
            _restrict(results, user, {})
        yield outlet


@contextlib.contextmanager
def writing_directory(results: Sequence[Path], directory: Path, *, browser: bool = False) -> Iterator[None]:
    """Make `directory`, and keep the rights to write there and to read these results; with `browser` to start one.

    InputError where root acts for a user who may not write there. What else keeps the directory from being made is
    left to whoever writes into it.
    """
    if not Process.is_own:
        yield
        return
    user = owner_of(results)
    is_new = not directory.exists()
    with acting_as(user):
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
        writable = os.access(directory, os.R_OK | os.W_OK | os.X_OK, effective_ids=True)
        scratch = Path(tempfile.mkdtemp(prefix="vtax-")) if browser else None

    def tidy() -> None:
        with acting_as(user):
            if scratch is not None:
                shutil.rmtree(scratch, ignore_errors=True)
            if is_new:
                _remove_empty(directory)

    with _kept(_nothing, tidy):
        if user is not None and not writable:
            raise InputError(
                f"{directory}: {user.name}, whom {results[0]} belongs to, may not write there; name a directory "
                f"of theirs, or make the result yours: chown -R root {results[0]}"
            )
        _restrict(results, user, {directory: WRITE}, scratch)
        yield


def _opened(target: Path, in_new: bool) -> Outlet:
    if in_new:
        target.parent.mkdir(exist_ok=True)
    return Outlet(target)


@contextlib.contextmanager
def _kept(place: Callable[[], None], tidy: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Return what has a file put in place, and tidy up at the end: in a Keeper where this process gives up rights."""
    keeper = Keeper(place, tidy) if Process.is_own else None
    try:
        yield keeper.place if keeper else place
    finally:
        if keeper:
            keeper.end()
        else:
            tidy()


def _restrict(
    results: Sequence[Path], user: User | None, writable: Mapping[Path, int], scratch: Path | None = None
) -> None:
    """Give up rights: be `user` where there is one, and keep files by Landlock where the kernel has it.

    Root's own results, and those of several users, are read as a user who owns nothing but may read all that Landlock
    leaves. Where it writes a directory it stays root, for the files there are to be root's.
    """
    is_confined = landlock.version() >= (BROWSER_SINCE if scratch else 1)
    needed = code()
    if user is not None:
        reads_all = not user.may_read([*results, *needed])
        if reads_all and not is_confined:
            raise InputError(
                f"{results[0]}: {user.name}, whom it belongs to, may not read it there, or not vtax in {needed[0]}; "
                f"make the result yours: chown -R root {results[0]}"
            )
        become(user, reads_all=reads_all)
    elif not writable and (nobody := nobody_reading(results)) is not None:
        become(nobody, reads_all=True)
    elif os.geteuid() == 0:
        forgo_capabilities()
    rules = below([*SYSTEM, *needed, *results], READ) | DEVICES
    if scratch is not None:
        rules |= below([*SYSTEM, *needed, *browsers()], READ | EXECUTE) | {scratch: OF_A_BROWSER}
        os.environ.update(dict.fromkeys(SCRATCH, str(scratch)))
        tempfile.tempdir = None
    landlock.forgo_new_privileges()
    if is_confined:
        # A result may lie within where is written.
        landlock.restrict(
            {**rules, **{path: rights | rules.get(path, 0) for path, rights in writable.items()}}
        )


def _nothing() -> None:
    """Put nothing in place."""


def _remove_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rmdir()
