"""Who else may change a file that root is about to believe."""

import grp
import os
import pwd
import stat
from collections.abc import Collection
from pathlib import Path

ROOT = 0


def callers() -> frozenset[int]:
    """Return the users whom this process serves: its own, and the one that called sudo."""
    user = os.geteuid()
    by_sudo = os.environ.get("SUDO_UID", "") if user == ROOT else ""
    return frozenset({user, int(by_sudo)} if by_sudo.isdecimal() else {user})


def distrust(place: Path, owners: Collection[int]) -> str | None:
    """Return why what is at `place` is not in the hands of `owners` alone; None where it is.

    A link is judged itself, not what it leads to. The mask of an access control list stands in the group's bits.
    """
    about = place.lstat()
    if about.st_uid not in owners:
        return f"{place} belongs to {_name(about.st_uid)}"
    if stat.S_ISLNK(about.st_mode):
        return None
    if about.st_mode & stat.S_IWOTH:
        return f"{place} may be written by everybody"
    if about.st_mode & stat.S_IWGRP and not _is_private(about.st_gid, about.st_uid):
        return f"{place} may be written by its group"
    return None


def distrust_above(place: Path, owners: Collection[int]) -> str | None:
    """Return why others than `owners` could put another thing at `place`, a path without links; None where nobody can.

    A directory of root's whose sticky bit is set keeps everybody's names.
    """
    above = (each for each in place.parents if not _keeps_names(each))
    return next((why for each in above if (why := distrust(each, owners)) is not None), None)


def _keeps_names(directory: Path) -> bool:
    about = directory.stat()
    return about.st_uid == ROOT and bool(about.st_mode & stat.S_ISVTX)


def _name(user: int) -> str:
    try:
        return f"{pwd.getpwuid(user).pw_name} (uid {user})"
    except KeyError:
        return f"uid {user}"


def _is_private(group: int, user: int) -> bool:
    """Whether a group is a user's own, with nobody else in it, as most distributions make one for each of their users.

    Root's is not: systems have more accounts in it.
    """
    try:
        own, owner = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    alone = set(own.gr_mem) <= {owner.pw_name}
    return user != ROOT and (own.gr_name, own.gr_gid) == (owner.pw_name, owner.pw_gid) and alone
