"""Writing a result: every trial is on disk, whole, before the next one begins.

A commit rewrites the block's part of each table that the trial adds to, `trials` last, and then appends the
trial to the journal. Killed at any instant, a campaign leaves parts that may hold rows of one trial more than
the journal; readers skip them, and the next commit to the block drops them.
"""

import fcntl
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from vtax.inputs import InputError
from vtax.results.files import create_empty_directory, sync_directory
from vtax.results.journal import Entry, Journal, by_block, read_journal
from vtax.results.manifest import read_manifest, write_manifest
from vtax.results.parts import DamagedPartError, part_path, read_block, write_part
from vtax.results.schema import TABLES, schemas

Row = dict[str, Any]


@dataclass
class TrialRecord:
    """Everything one trial leaves behind: rows by column name, as vtax.results.schema names them.

    Columns left out are null. Rows beside the trial's own need no `trial_id`.
    """

    trial: Row
    flows: list[Row] = field(default_factory=list)
    cpu: list[Row] = field(default_factory=list)
    hops: list[Row] = field(default_factory=list)
    latency: list[Row] = field(default_factory=list)
    environment: list[Row] = field(default_factory=list)


class ResultWriter:
    """The one writer of a result directory; a second one is refused while it lives."""

    def __init__(self, directory: Path, campaign: Mapping[str, Any], committed: list[Entry]) -> None:
        """Use `create` or `resume`."""
        self.directory = directory
        self.campaign = dict(campaign)
        self._schemas = schemas(campaign)
        self._committed = {entry.trial_id: entry for entry in committed}
        self._block: int | None = None  # the block whose rows are in _rows; None: nothing is loaded
        self._rows: dict[str, pa.Table] = {}
        self._lock = _lock(directory)
        self._journal = Journal(directory)
        self._disk = ThreadPoolExecutor(max_workers=len(TABLES), thread_name_prefix="commit")

    @classmethod
    def create(cls, directory: Path, campaign: Mapping[str, Any]) -> Self:
        """Begin a result in `directory`, made if need be. InputError where it is not empty.

        `campaign["factors"]`, in want of it `campaign["scenario"]["factors"]`, names the factors' columns;
        where `trials` has none of that name, it gets one, of text.
        """
        create_empty_directory(directory)
        for table in TABLES:
            (directory / table).mkdir()
        sync_directory(directory)
        return cls(directory, write_manifest(directory, campaign), committed=[])

    @classmethod
    def resume(cls, directory: Path) -> Self:
        """Go on with the result in `directory`. InputError where it, or its journal, cannot be read."""
        return cls(directory, read_manifest(directory), read_journal(directory))

    @property
    def committed(self) -> frozenset[int]:
        """The ids of the trials that are on disk."""
        return frozenset(self._committed)

    def update(self, **fields: Any) -> None:
        """Set top-level fields of campaign.json, such as `status`."""
        self.campaign = write_manifest(self.directory, {**self.campaign, **fields})

    def commit(self, record: TrialRecord) -> None:
        """Put the trial on disk; it is durable and visible to readers on return.

        ValueError, before anything is written, for a record that does not fit the schema or was committed
        already. OSError where the disk fails: then the trial is not committed, all earlier ones still are,
        and the same record may be committed again.
        """
        added = self._arrow(record)
        trial_id, block = int(record.trial["trial_id"]), int(record.trial["block"])
        if trial_id in self._committed:
            raise ValueError(f"trial {trial_id} is committed already")
        # A block's first commit writes all of its parts: that makes them, or drops what a crash left in them.
        rewritten = [table for table in TABLES if added[table].num_rows or block != self._block]
        earlier = self._rows if block == self._block else self._load(block)
        rows = {table: pa.concat_tables([earlier[table], added[table]]) for table in TABLES}
        self._block = None  # stays so if the disk fails below: the parts are then no longer what _rows says
        self._write(block, rows, rewritten)
        entry = Entry(trial_id, block, {table: added[table].num_rows for table in TABLES})
        self._journal.append(entry)
        self._committed[trial_id] = entry
        self._block, self._rows = block, rows

    def close(self) -> None:
        """Release the directory. Committed trials are on disk already."""
        self._disk.shutdown()
        self._journal.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, block: int, rows: Mapping[str, pa.Table], tables: list[str]) -> None:
        # Flushes side by side share the file system's journal commits.
        beside = [table for table in tables if table != "trials"]
        paths = {table: part_path(self.directory, table, block) for table in tables}
        list(self._disk.map(lambda table: write_part(paths[table], rows[table]), beside))
        write_part(paths["trials"], rows["trials"])

    def _load(self, block: int) -> dict[str, pa.Table]:
        entries = by_block(self._committed.values()).get(block)
        if entries is None:
            return {table: schema.empty_table() for table, schema in self._schemas.items()}
        try:
            return read_block(self.directory, self._schemas, block, entries)
        except DamagedPartError as error:
            raise InputError(
                f"{error}; nothing can be added to this block, start a campaign elsewhere"
            ) from error

    def _arrow(self, record: TrialRecord) -> dict[str, pa.Table]:
        rows = {
            "trials": [record.trial],
            "flows": record.flows,
            "cpu": record.cpu,
            "hops": record.hops,
            "latency": record.latency,
            "environment": record.environment,
        }
        trial_id = record.trial["trial_id"]
        return {
            table: _table(table, schema, rows[table], trial_id) for table, schema in self._schemas.items()
        }


def _table(name: str, schema: pa.Schema, rows: list[Row], trial_id: int) -> pa.Table:
    """Turn one trial's rows of a table into Arrow. ValueError names the table and what does not fit."""
    for row in rows:
        if unknown := row.keys() - set(schema.names):
            raise ValueError(
                f"{name}: unknown column {', '.join(sorted(unknown))}; it has {', '.join(schema.names)}"
            )
        if row.get("trial_id", trial_id) != trial_id:
            raise ValueError(f"{name}: a row of trial {row['trial_id']} in the record of trial {trial_id}")
    columns = []
    for column in schema:
        values = [trial_id if column.name == "trial_id" else row.get(column.name) for row in rows]
        if column.type == pa.string():
            values = [_text(value) for value in values]
        try:
            columns.append(pa.array(values, column.type))
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(f"{name}.{column.name}: {error}") from None
    return pa.Table.from_arrays(columns, schema=schema)


def _text(value: object) -> str | None:
    """Text of a label or a factor's level: null stays null, truth values as YAML writes them."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lock(directory: Path) -> int:
    """Lock the directory against a second writer; the kernel unlocks it when this process ends."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"{directory}: another campaign is writing here; wait for its end or name another directory"
        ) from None
    return descriptor
