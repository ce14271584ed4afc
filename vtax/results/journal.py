"""journal.sqlite: which trials there must be, and with how many rows in each table.

A trial's row is written after its parts are in place, so that a reader notices a part that was lost. What is
not in the journal but whole in the parts is committed all the same: the journal can be built again from them.

SQLite never undoes here what was half written: its own files beside the journal may name any file, which it would
remove. Nobody opens a journal that has such files beside it; its result is read from the parts.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from vtax.results.files import is_written

NAME = "journal.sqlite"
SIDE_FILES = ("-journal", "-wal", "-shm")

SETTLE_TIMEOUT_S = 10.0
"""Longer than any commit takes, which is all that a reader waits for."""
LOOK_S = 0.002
HEADER_BYTES = 100
"""Among them is a counter that every commit raises."""
T = TypeVar("T")


class DamagedJournalError(Exception):
    """The journal is missing or cannot be read; the message names it and says why."""


class UnsettledJournalError(DamagedJournalError):
    """The journal is half written, by a campaign that was killed; the message names what shows it."""


class Entry(NamedTuple):
    """A committed trial; `rows` is its number of rows in each table."""

    trial_id: int
    block: int
    rows: Mapping[str, int]


class Journal:
    """The writer's side, which opens no journal but a whole one.

    A rollback journal, not WAL: that could not be read where the disk is full or read-only.
    """

    def __init__(self, directory: Path) -> None:
        self._database = sqlite3.connect(directory / NAME, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS trials ("
            " trial_id INTEGER PRIMARY KEY,"
            " block INTEGER NOT NULL,"
            " rows TEXT NOT NULL,"
            " committed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')))"
        )

    def append(self, entry: Entry) -> None:
        """Commit `entry`; it is durable on return."""
        self._database.execute(
            "INSERT INTO trials (trial_id, block, rows) VALUES (?, ?, ?)",
            (entry.trial_id, entry.block, json.dumps(dict(entry.rows))),
        )

    def extend(self, entries: Iterable[Entry]) -> None:
        """Commit all `entries` or none; they are durable on return."""
        self._database.execute("BEGIN")
        for entry in entries:
            self.append(entry)
        self._database.execute("COMMIT")

    def hold(self, entries: Iterable[Entry]) -> None:
        """Make the journal hold `entries` and no others; those that stay keep the time of their commit."""
        wanted = {entry.trial_id: entry for entry in entries}
        held = {trial_id for (trial_id,) in self._database.execute("SELECT trial_id FROM trials")}
        self._database.execute("BEGIN")
        for trial_id in held - wanted.keys():
            self._database.execute("DELETE FROM trials WHERE trial_id = ?", (trial_id,))
        for trial_id in sorted(wanted.keys() - held):
            self.append(wanted[trial_id])
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def read_journal(directory: Path, *, patient: bool = True) -> list[Entry]:
    """Return the trials of the journal: one consistent snapshot, also while a campaign writes.

    A `patient` reader waits for another's commit to end; whoever holds the result itself has nobody to wait for.
    Raises DamagedJournalError where it is missing or damaged, UnsettledJournalError where it is half written.
    """

    def ask(database: sqlite3.Connection) -> list[Entry]:
        database.text_factory = row_counts  # the only text that is asked for
        found = database.execute("SELECT trial_id, block, rows FROM trials ORDER BY rowid")
        entries = list(map(Entry._make, found))
        if not all(isinstance(entry.block, int) and isinstance(entry.rows, dict) for entry in entries):
            raise TypeError("a trial without a block or its numbers of rows")
        return entries

    return _read(directory, ask, patient)


def read_numbers(directory: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the journal's trials and their blocks alone: a fraction of the time where there are very many.

    Raises as read_journal does, for what is not returned too.
    """

    def ask(database: sqlite3.Connection) -> NDArray[np.int64]:
        for (text,) in database.execute("SELECT DISTINCT rows FROM trials"):
            row_counts(text)
        found = database.execute("SELECT trial_id, block FROM trials")
        return np.fromiter(chain.from_iterable(found), np.int64)

    numbers = _read(directory, ask, patient=True)
    return numbers[0::2], numbers[1::2]


def _read(directory: Path, ask: Callable[[sqlite3.Connection], T], patient: bool) -> T:
    """Return what `ask` makes of the journal as it is between two commits."""
    path, deadline = directory / NAME, time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        header, beside = _moment(path)
        if beside is None:
            answer, problem = _answer(path, ask)
            if _moment(path) == (header, None):
                if problem is not None:
                    raise DamagedJournalError(problem)
                return cast(T, answer)
        if not patient:
            raise UnsettledJournalError(f"{beside or path}: a campaign was killed as it wrote here")
        # Where nobody writes any more, a last look.
        patient = is_written(directory) and time.monotonic() < deadline
        time.sleep(LOOK_S)


def _moment(path: Path) -> tuple[bytes, Path | None]:
    """Return what every commit changes of a journal, and a file of SQLite's beside it, which shows that one goes on."""
    if not path.is_file():
        return b"", None
    header = b""
    with contextlib.suppress(OSError), path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    side_files = (path.with_name(f"{path.name}{suffix}") for suffix in SIDE_FILES)
    return header, next((file for file in side_files if os.path.lexists(file)), None)


def _answer(path: Path, ask: Callable[[sqlite3.Connection], T]) -> tuple[T | None, str | None]:
    """Return what `ask` makes of the journal, or what is wrong with it; SQLite opens this file alone, to read it."""
    if not path.is_file():
        return None, f"{path}: {'is no file' if os.path.lexists(path) else 'missing'}"
    try:
        read_only = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(read_only, uri=True)) as database:
            return ask(database), None
    except (sqlite3.Error, TypeError, ValueError) as error:
        return None, f"{path}: cannot be read ({error})"


def set_aside(directory: Path) -> None:
    """Rename a journal that cannot be trusted, with SQLite's files beside it, so that SQLite begins a new one."""
    for suffix in ("", *SIDE_FILES):
        file = directory / f"{NAME}{suffix}"
        if os.path.lexists(file):
            file.replace(file.with_name(f"{file.name}.damaged"))


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
        return {str(table): int(rows) for table, rows in json.loads(text).items()}
    except (AttributeError, TypeError) as error:
        raise ValueError(str(error)) from None
