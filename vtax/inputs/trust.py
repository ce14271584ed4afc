"""Who else may change a file that root is about to believe."""

import os
import pwd
import stat
from collections.abc import Collection
from pathlib import Path

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
ROOT = 0


def callers() -> frozenset[int]:
    """Return the users whom this process serves: its own, and the one that called sudo."""
    user = os.geteuid()
    by_sudo = os.environ.get("SUDO_UID", "") if user == ROOT else ""
    return frozenset({user, int(by_sudo)} if by_sudo.isdecimal() else {user})


def user_name(user: int) -> str:
    """Return a user's name and number, for sentences."""
    try:
        return f"{pwd.getpwuid(user).pw_name} (uid {user})"
    except KeyError:
        return f"uid {user}"


def distrust(place: Path, owners: Collection[int]) -> str | None:
    """Return why what is at `place` is not in the hands of `owners` alone; None where it is.

    A link is judged itself, not what it leads to. The mask of an access control list stands in the group's bits.
    """
    about = place.lstat()
    if about.st_uid not in owners:
        return f"{place} belongs to {user_name(about.st_uid)}"
    if about.st_mode & OTHERS_MAY_WRITE and not stat.S_ISLNK(about.st_mode):
        whom = "everybody" if about.st_mode & stat.S_IWOTH else "its group"
        return f"{place} may be written by {whom}"
    return None
