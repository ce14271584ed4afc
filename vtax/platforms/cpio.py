"""Archives as the kernel unpacks them into a guest's root.

The format is "newc" of cpio (Linux Documentation/driver-api/early-userspace/buffer-format.rst). Everything is root's.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path


def newc_archive(directories: Sequence[str], files: dict[str, tuple[int, bytes]]) -> bytes:
    """An archive of directories, then files: name to mode and content. A link's content is where it leads."""
    entries = [(name, 0o040755, b"") for name in directories]
    entries += [(name, mode, data) for name, (mode, data) in files.items()]
    parts = [_newc_entry(number, *entry) for number, entry in enumerate(entries, start=1)]
    return b"".join([*parts, _newc_entry(0, "TRAILER!!!", 0, b"")])


def tree_archive(root: Path) -> bytes:
    """An archive of what is under `root`: directories, files and links, which are not followed; nothing else.

    Nobody gets another's rights by it: set-user-ID and set-group-ID are left out.
    """
    directories: list[str] = []
    files: dict[str, tuple[int, bytes]] = {}
    for parent, inner, names in os.walk(root):
        inner.sort()
        for path in (Path(parent, name) for name in sorted([*inner, *names])):
            name, mode = str(path.relative_to(root)), path.lstat().st_mode
            if stat.S_ISLNK(mode):
                files[name] = mode, os.fsencode(path.readlink())
            elif stat.S_ISDIR(mode):
                directories.append(name)
            elif stat.S_ISREG(mode):
                files[name] = stat.S_IFREG | mode & 0o777, path.read_bytes()
    return newc_archive(directories, files)


def _newc_entry(inode: int, name: str, mode: int, data: bytes) -> bytes:
    encoded = os.fsencode(name) + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + encoded) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
