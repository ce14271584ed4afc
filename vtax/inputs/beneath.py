"""Reading files that somebody else named: of one directory, through no link, regular ones only."""

import ctypes
import errno
import os
import stat
from pathlib import Path

from vtax.inputs.document import InputError

OPENAT2 = 437
"""Its number on x86-64 and aarch64 alike (Linux 5.6, asm-generic/unistd.h)."""
RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 0x04, 0x08
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
"""A pipe, or a device, does not keep whoever opens it."""
UNKNOWN = {errno.ENOSYS, errno.EPERM}
"""What kernels answer that do not have the call, and filters of system calls that do not know it."""

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


class _OpenHow(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "mode", "resolve")]


def read_beneath(directory: Path, name: str, most_bytes: int) -> bytes:
    """The content of the regular file `name` of a directory, or below it; no part of `name` may be a link.

    Raises InputError where it cannot be read, is another thing, or is larger.
    """
    path = directory / name
    try:
        descriptor = _open_beneath(directory, name)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {_reason(error)}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path}: cannot be read: it is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise InputError(f"{path}: larger than {most_bytes} bytes, the most that is read")
    return content


def _open_beneath(directory: Path, name: str) -> int:
    path = os.fsencode(name)
    if b"\0" in path:
        raise ValueError("its name has a zero byte")
    place = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            return _openat2(place, path)
        except OSError as error:
            if error.errno not in UNKNOWN:
                raise
        return _walk(place, path)
    finally:
        os.close(place)


def _openat2(place: int, name: bytes) -> int:
    how = _OpenHow(FLAGS, 0, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    opened = _syscall(ctypes.c_long(OPENAT2), ctypes.c_long(place), name, ctypes.byref(how), size)
    if opened == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(opened)


def _walk(place: int, name: bytes) -> int:
    """The same where the kernel has no openat2: one component after the other, none of them a link."""
    *directories, last = name.split(b"/")
    if b".." in (*directories, last):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    here = os.dup(place)
    try:
        for component in directories:
            below = os.open(component, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, FLAGS, dir_fd=here)
    finally:
        os.close(here)


def _reason(error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return str(error)
    if error.errno in (errno.ELOOP, errno.EXDEV):
        return "it is a link, or leads out of its directory; put a copy there"
    return str(error.strerror)
