"""Replacing a file so that at every instant, a crash included, it holds either the old or the new content."""

import os
from pathlib import Path

from vtax.inputs import InputError


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, make it durable, and rename it into place; durable on return."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable: a rename is on disk only after this."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_empty_directory(directory: Path) -> None:
    """Make `directory` with its parents. InputError where it holds something already or cannot be made."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        occupied = any(directory.iterdir())
    except OSError as error:
        raise InputError(
            f"{directory}: cannot hold a result ({error.strerror}); name another directory"
        ) from None
    if occupied:
        raise InputError(
            f"{directory}: not empty; a campaign starts in a directory of its own, name another one"
        )
