"""Landlock: a process gives up, for good and for all that it starts, every file but those that it names.

By raw system calls, since the C library has none; their numbers are the same on each architecture that vtax is for.
"""

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_QUERY = 1
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
PORTS_SINCE, PORTS = 4, 0b11
"""The first version that knows ports; binding and connecting over TCP are two rights, and nobody has them here."""
SCOPE_SINCE, SCOPE = 6, 0b11
"""The first version that keeps abstract sockets and signals among those who are restricted together."""


EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG = (
    1 << bit for bit in range(9)
)
MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM, REFER, TRUNCATE = (1 << bit for bit in range(9, 15))
ALL = (1 << 15) - 1
"""What may be done with files below a path, by the kernel's numbers."""

READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR | REFER
OF_A_BROWSER = WRITE | MAKE_SOCK | MAKE_SYM | MAKE_FIFO
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""The rights that a path may have which is no directory."""
ADDED = {2: REFER, 3: TRUNCATE}
"""The rights that a version has added to the first one's."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("ports", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def version() -> int:
    """Return the version of Landlock in the running kernel; 0 where it has none, or has it switched off."""
    return max(0, int(_libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_QUERY)))


def restrict(rules: Mapping[Path, int]) -> None:
    """Leave this process the files below these paths, with these rights, and no others.

    A path that does not exist gives none. Only the calling thread is restricted, with all that it starts: it has to be
    the only one.
    """
    known = version()
    handled = ALL
    for since, right in ADDED.items():
        if known < since:
            handled &= ~right
    fields = (
        1 + (known >= PORTS_SINCE) + (known >= SCOPE_SINCE)
    )  # a kernel takes no more of them than it knows
    ruleset = _Ruleset(*(handled, PORTS, SCOPE)[:fields])
    size = ctypes.c_size_t(fields * ctypes.sizeof(ctypes.c_uint64))
    descriptor = _call(CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    try:
        for path, rights in rules.items():
            _allow(descriptor, path, rights & handled)
        _call(RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if path.is_dir() else rights & OF_A_FILE
        rule = _PathBeneath(allowed, place)
        _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def below(paths: Iterable[Path], rights: int) -> dict[Path, int]:
    """Return rules that give each of the paths these rights."""
    return dict.fromkeys(paths, rights)


def forgo_new_privileges() -> None:
    """Have nothing that is started gain rights by its file. Landlock asks for this."""
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _call(number: int, *arguments: object) -> int:
    answer = int(_libc.syscall(number, *arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return answer
