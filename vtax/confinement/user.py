"""Whose rights a result is read with: root takes those of the user whom it belongs to, or gives up what root may do."""

import contextlib
import ctypes
import os
import pwd
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

NOBODY = NO_GROUP = 65534
PR_SET_KEEPCAPS = 8
DAC_OVERRIDE, DAC_READ_SEARCH = 1 << 1, 1 << 2
"""Capabilities: to read and write a file, and to read it, whatever its mode says."""
CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_Header = ctypes.c_uint32 * 2
_Sets = ctypes.c_uint32 * 6
"""Effective, permitted and inheritable ones below 32, and the same of those above."""


@dataclass(frozen=True)
class User:
    """A user of this machine, with the groups that a login would give."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    @classmethod
    def of(cls, uid: int) -> "User":
        """Return the user of this number; one that the machine does not know has no group."""
        try:
            known = pwd.getpwuid(uid)
        except KeyError:
            return cls(str(uid), uid, NO_GROUP, ())
        return cls(known.pw_name, uid, known.pw_gid, tuple(os.getgrouplist(known.pw_name, known.pw_gid)))

    def may_read(self, paths: Iterable[Path], *, by_capability: bool = False) -> bool:
        """Whether this user may read all of these that exist, by their modes, or by the capability to read any file."""
        modes = {path: os.R_OK | (os.X_OK if path.is_dir() else 0) for path in paths if os.path.lexists(path)}
        with acting_as(self):
            if by_capability:
                _keep(_reading(_permitted()), _permitted())
            return all(os.access(path, mode, effective_ids=True) for path, mode in modes.items())


def owner_of(paths: Iterable[Path]) -> User | None:
    """Return the user whom all these paths belong to and whom root can be; else None, also where that is root."""
    if os.geteuid() != 0:
        return None
    owners = set()
    for path in paths:
        with contextlib.suppress(OSError):
            owners.add(path.stat().st_uid)
    if len(owners) != 1 or owners == {0}:
        return None
    user = User.of(*owners)
    try:
        with acting_as(user):
            return user
    except OSError:  # in a container that has no such user, or without the right to be another
        return None


def nobody_reading(paths: Iterable[Path]) -> User | None:
    """Return the user who owns nothing, where root can be that and still read these paths; else None."""
    if os.geteuid() != 0:
        return None
    user = User.of(NOBODY)
    try:
        return user if user.may_read(paths, by_capability=True) else None
    except OSError:
        return None


@contextlib.contextmanager
def acting_as(user: User | None) -> Iterator[None]:
    """Open and make files meanwhile as that user would; as whoever this process is where that is None."""
    if user is None:
        yield
        return
    groups, gid = os.getgroups(), os.getegid()
    try:
        os.setgroups(user.groups)
        os.setegid(user.gid)
        os.seteuid(user.uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        with contextlib.suppress(PermissionError):  # where it may not change them it has not
            os.setgroups(groups)


def become(user: User, *, reads_all: bool) -> None:
    """Be that user from now on; with `reads_all` no mode of a file keeps this process from reading it."""
    held = _permitted()
    _libc.prctl(PR_SET_KEEPCAPS, int(reads_all), 0, 0, 0)
    os.setgroups(user.groups)
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)
    if reads_all:
        _keep(_reading(held), _reading(held))


def forgo_capabilities() -> None:
    """Give up all that root may do but to read and write files of whatever mode."""
    kept = _permitted() & (DAC_OVERRIDE | DAC_READ_SEARCH)
    _keep(kept, kept)


def _reading(held: int) -> int:
    """Return the capability to read any file, of those that are held: in a container it may be that to write, too."""
    return DAC_READ_SEARCH if held & DAC_READ_SEARCH else held & DAC_OVERRIDE


def _permitted() -> int:
    """Return the capabilities that this process may have, as far as their numbers are below 32."""
    header, sets = _Header(CAPABILITY_VERSION, 0), _Sets()
    _check(_libc.capget(header, sets))
    return int(sets[1])


def _keep(effective: int, permitted: int) -> None:
    _check(_libc.capset(_Header(CAPABILITY_VERSION, 0), _Sets(effective, permitted)))


def _check(answer: int) -> None:
    if answer != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
