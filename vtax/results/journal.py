"""journal: which trials there must be, and with how many rows in each table.

A line a trial, appended after its parts are in place, so that a reader notices a part that was lost. What is not in
the journal but whole in the parts is committed all the same: the journal can be built again from them.

Each line begins with a checksum of the rest. A last line that is torn belongs to a commit that never returned: readers
leave it out, and the writer cuts it off. Any other wrong line is damage.
"""

import errno
import io
import json
import os
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from vtax.results.bounds import BLOCKS, COUNT, JOURNAL_BYTES
from vtax.results.files import open_file, read_file, replace_file

NAME: Final = "journal"
HEADER: Final = b"vtax journal 1\n"
"""The first line. A file without it is no journal, so that one which was emptied is noticed."""

RowCounts = dict[str, Annotated[int, msgspec.Meta(ge=0, lt=COUNT)]]


class DamagedJournalError(Exception):
    """The journal is missing or cannot be read; the message names it and says why."""


class Entry(NamedTuple):
    """A committed trial; `rows` is its number of rows in each table."""

    trial_id: int
    block: int
    rows: Mapping[str, int]


class Journal:
    """The writer's side, which opens no journal but a whole one, or one with a torn end."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME
        if not os.path.lexists(self._path):
            replace_file(self._path, HEADER)
        self._open(_lines(self._path))

    def append(self, entry: Entry) -> None:
        """Commit `entry`; it is durable on return."""
        self.extend([entry])

    def extend(self, entries: Iterable[Entry]) -> None:
        """Commit `entries`; they are durable on return."""
        content = b"".join(map(_line, entries))
        os.ftruncate(self._file, self._end)  # cuts off what a kill or a full disk left of a line
        written = os.pwrite(self._file, content, self._end)
        if written < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        os.fsync(self._file)
        self._end += written

    def hold(self, entries: Iterable[Entry]) -> None:
        """Make the journal hold `entries` and no others; those that stay keep the time of their commit."""
        wanted = {entry.trial_id: entry for entry in entries}
        held = {_entry(line).trial_id: line for line in _lines(self._path)}
        if wanted.keys() == held.keys():
            return
        lines = [held.get(trial_id) or _line(entry) for trial_id, entry in wanted.items()]
        replace_file(self._path, HEADER + b"".join(lines))
        self.close()
        self._open(lines)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _open(self, lines: Iterable[bytes]) -> None:
        self._file = open_file(self._path, os.O_WRONLY)
        self._end = len(HEADER) + sum(map(len, lines))


def read_journal(directory: Path) -> list[Entry]:
    """Return the trials of the journal, also while a campaign writes it.

    Raises DamagedJournalError where it is missing or damaged.
    """
    path = directory / NAME
    try:
        return list(map(_entry, _lines(path)))
    except ValueError as error:
        raise DamagedJournalError(f"{path}: cannot be read ({error})") from None


def read_numbers(directory: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the journal's trials and their blocks alone: half of the time where there are very many.

    Raises as read_journal does, for what is not returned too.
    """
    path = directory / NAME
    try:
        trials, blocks, texts = [], [], set()
        for line in _lines(path):
            _, trial_id, block, _, text = line.split(b" ", 4)
            trials.append(int(trial_id))
            blocks.append(int(block))
            texts.add(text)
        for text in texts:
            row_counts(text)
        numbers = np.array([trials, blocks], np.int64)
        if (
            numbers.min(initial=0) < 0
            or numbers[0].max(initial=0) >= COUNT
            or numbers[1].max(initial=0) >= BLOCKS
        ):
            raise ValueError("a number beyond its bounds")
    except (ValueError, OverflowError) as error:
        raise DamagedJournalError(f"{path}: cannot be read ({error})") from None
    return numbers[0], numbers[1]


def _lines(path: Path) -> list[bytes]:
    """Return the journal's lines without the first one, which says what it is, and without a last one that is torn."""
    try:
        content = read_file(path, JOURNAL_BYTES)
    except FileNotFoundError:
        raise DamagedJournalError(f"{path}: missing") from None
    except OSError as error:
        raise DamagedJournalError(f"{path}: cannot be read ({error.strerror})") from None
    if not content.startswith(HEADER):
        raise DamagedJournalError(f"{path}: cannot be read (its first line is not that of a journal)")
    lines = io.BytesIO(content[len(HEADER) :]).readlines()
    if lines and not _is_right(lines[-1]):
        lines.pop()
    for number, line in enumerate(lines, 2):
        if not _is_right(line):
            raise DamagedJournalError(f"{path}: line {number} is damaged")
    return lines


def _line(entry: Entry) -> bytes:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    told = f"{entry.trial_id} {entry.block} {now} {json.dumps(dict(entry.rows))}\n".encode()
    return b"%08x %s" % (zlib.crc32(told), told)


def _is_right(line: bytes) -> bool:
    """Whether the line is as it was written: its checksum, and its end, which that covers."""
    return line[:9] == b"%08x " % zlib.crc32(line[9:]) and line[-1:] == b"\n"


def _entry(line: bytes) -> Entry:
    """Read a line; ValueError where it says nonsense."""
    _, trial_id, block, _, rows = line.split(b" ", 4)
    entry = Entry(int(trial_id), int(block), row_counts(rows))
    if not (0 <= entry.trial_id < COUNT and 0 <= entry.block < BLOCKS):
        raise ValueError(f"trial {entry.trial_id} of block {entry.block}")
    return entry


def set_aside(directory: Path) -> None:
    """Rename a journal that cannot be trusted, so that the writer begins a new one."""
    path = directory / NAME
    if os.path.lexists(path):
        path.replace(path.with_name(f"{NAME}.damaged"))


def by_block(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Group journal entries by their block."""
    blocks: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        blocks[entry.block].append(entry)
    return dict(blocks)


@lru_cache(maxsize=1024)
def row_counts(text: str | bytes) -> Mapping[str, int]:
    """Read a trial's number of rows in each table from JSON; ValueError where it is none.

    Kept, because most trials of a campaign have as many as each other.
    """
    try:
        return msgspec.json.decode(text, type=RowCounts)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
