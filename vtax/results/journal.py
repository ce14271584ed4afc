"""journal.sqlite: which trials there must be, and with how many rows in each table.

A trial's row is written after its parts are in place, so that a reader notices a part that was lost. What is
not in the journal but whole in the parts is committed all the same: the journal can be built again from them.
"""

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NAME = "journal.sqlite"
SIDE_FILES = ("-journal", "-wal", "-shm")

# Longer than any commit takes, which is all that reader and writer ever wait for.
LOCK_TIMEOUT_S = 10.0


class DamagedJournalError(Exception):
    """The journal is missing or cannot be read; the message names it and says why."""


class Entry(NamedTuple):
    """A committed trial; `rows` is its number of rows in each table."""

    trial_id: int
    block: int
    rows: Mapping[str, int]


class Journal:
    """The writer's side. A rollback journal, not WAL: that could not be read where the disk is full or read-only."""

    def __init__(self, directory: Path) -> None:
        self._database = sqlite3.connect(directory / NAME, timeout=LOCK_TIMEOUT_S, isolation_level=None)
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


def read_journal(directory: Path) -> list[Entry]:
    """Return the trials of the journal: one consistent snapshot, also while a campaign writes.

    DamagedJournalError where it is missing or damaged.
    """
    with _reading(directory) as database:
        database.text_factory = row_counts  # the only text that is asked for
        found = database.execute("SELECT trial_id, block, rows FROM trials ORDER BY rowid")
        entries = list(map(Entry._make, found))
        if not all(isinstance(entry.block, int) and isinstance(entry.rows, dict) for entry in entries):
            raise TypeError("a trial without a block or its numbers of rows")
        return entries


def read_numbers(directory: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the journal's trials and their blocks alone: a fraction of the time where there are very many.

    DamagedJournalError where it is missing or damaged, what is not returned included.
    """
    with _reading(directory) as database:
        for (text,) in database.execute("SELECT DISTINCT rows FROM trials"):
            row_counts(text)
        found = database.execute("SELECT trial_id, block FROM trials")
        numbers = np.fromiter(chain.from_iterable(found), np.int64)
    return numbers[0::2], numbers[1::2]


@contextlib.contextmanager
def _reading(directory: Path) -> Iterator[sqlite3.Connection]:
    """The journal's database; DamagedJournalError for whatever is wrong with it."""
    path = directory / NAME
    try:
        # Not mode=ro: after a killed campaign SQLite must be able to undo what that had half written.
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=LOCK_TIMEOUT_S)
        try:
            yield database
        finally:
            database.close()
    except (sqlite3.Error, TypeError, ValueError) as error:
        what = "cannot be read" if path.exists() else "missing"
        raise DamagedJournalError(f"{path}: {what} ({error})") from None


def set_aside(directory: Path) -> None:
    """Rename a damaged journal out of the way, and remove what SQLite keeps beside it."""
    if (directory / NAME).exists():
        (directory / NAME).replace(directory / f"{NAME}.damaged")
    for suffix in SIDE_FILES:
        (directory / f"{NAME}{suffix}").unlink(missing_ok=True)


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
