"""What may stand in the place of a result's file, and is none."""

import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path


def _bound(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(path))


STRANGE: dict[str, Callable[[Path], object]] = {
    "directory": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": _bound,
    "link to a pipe": lambda path: (os.mkfifo(f"{path}.pipe"), path.symlink_to(f"{path}.pipe")),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
}
"""Made in a file's place."""
