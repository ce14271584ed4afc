"""journal.sqlite: the list of committed trials. A trial that is not in it was never measured.

Its row is written after the trial's files are in place, and says how many rows of each table belong to the
trial, so that a reader notices a part that was lost or came from another time.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vtax.inputs import InputError

NAME = "journal.sqlite"

# Longer than any commit or checkpoint takes, which is all that reader and writer ever wait for.
LOCK_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Entry:
    """A committed trial; `rows` is its number of rows in each table."""

    trial_id: int
    block: int
    rows: Mapping[str, int]


class Journal:
    """The writer's side. WAL, because it commits with one flush; FULL, because that flush must be awaited."""

    def __init__(self, directory: Path) -> None:
        self._database = sqlite3.connect(directory / NAME, timeout=LOCK_TIMEOUT_S, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
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

    def close(self) -> None:
        """Close the database; SQLite folds the write-ahead log into it."""
        self._database.close()


def read_journal(directory: Path) -> list[Entry]:
    """Return the committed trials in order of commit: one consistent snapshot, also while a campaign writes.

    InputError where the journal is missing or damaged: without it, no trial is known to be committed.
    """
    path = directory / NAME
    try:
        # Not mode=ro: after a killed campaign SQLite must be able to recover the log that it left.
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=LOCK_TIMEOUT_S)
        try:
            found = database.execute("SELECT trial_id, block, rows FROM trials ORDER BY rowid").fetchall()
        finally:
            database.close()
        return [Entry(int(trial_id), int(block), _counts(rows)) for trial_id, block, rows in found]
    except (sqlite3.Error, AttributeError, TypeError, ValueError) as error:
        what = "damaged" if path.exists() else "missing"
        raise InputError(
            f"{path}: {what} ({error}); without it no trial is known to be committed. Any Parquet reader "
            "opens the files beside it, but they may hold rows of an unfinished trial"
        ) from None


def by_block(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Group journal entries by their block."""
    blocks: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        blocks[entry.block].append(entry)
    return dict(blocks)


def _counts(text: str) -> dict[str, int]:
    return {str(table): int(rows) for table, rows in json.loads(text).items()}
