"""Writing a result: every trial is on disk, whole, before the next one begins.

A commit rewrites the block's part of each table that the trial adds to, `trials` last: with that in place the
trial is committed. Of tables with many rows it writes the trial's own part instead, before. Then it goes into the
journal. Killed at any instant, a campaign leaves parts that may hold rows of one trial more than `trials`; readers
skip them, and the next commit to the block drops them.
"""

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.results.blocks import read_block
from vtax.results.bounds import PART_BYTES
from vtax.results.captures import CapturedFrame, write_capture
from vtax.results.contents import Contents, read_contents
from vtax.results.files import (
    FILES,
    create_empty_directory,
    disk_errors,
    is_regular,
    lock_directory,
    make_directory,
    read_file,
    remove_file,
    remove_leftovers,
    replace_file,
    sync_directory,
)
from vtax.results.journal import Entry, Journal, by_block, set_aside
from vtax.results.manifest import read_manifest, write_manifest
from vtax.results.parts import part_path, trial_part_path, trial_parts, write_part
from vtax.results.schema import BLOCK_TABLES, TABLES, TRIAL_TABLES, Row, schemas, whole


@dataclass
class TrialRecord:
    """Everything one trial leaves behind: rows by column name, as vtax.results.schema names them.

    Columns left out are null. Rows beside the trial's own need no `trial_id`.
    """

    trial: Row
    flows: Sequence[Row] = field(default_factory=list)
    series: Sequence[Row] = field(default_factory=list)
    cpu: Sequence[Row] = field(default_factory=list)
    hops: Sequence[Row] = field(default_factory=list)
    latency: Sequence[Row] = field(default_factory=list)
    stages: Sequence[Row] = field(default_factory=list)
    packets: Sequence[Row] = field(default_factory=list)
    environment: Sequence[Row] = field(default_factory=list)
    canary: Sequence[Row] = field(default_factory=list)
    capture: list[CapturedFrame] = field(default_factory=list)
    searches: Sequence[Row] = field(default_factory=list)
    samples: Sequence[Row] = field(default_factory=list)


class ResultWriter:
    """The one writer of a result directory; a second one is refused while it lives."""

    def __init__(self, directory: Path, campaign: Mapping[str, JsonValue], lock: int) -> None:
        """Use `create` or `resume`."""
        self.directory = directory
        self.campaign = dict(campaign)
        self.repaired: list[str] = []
        """What was damaged when the result was resumed, and what is to be measured again."""
        self._lock = lock
        self._schemas = schemas(campaign)
        self._committed: dict[int, Entry] = {}
        self._block: int | None = None  # the block whose rows are in _rows; None: nothing is loaded
        self._rows: dict[str, pa.Table] = {}
        self._journal = Journal(directory)
        self._disk = ThreadPoolExecutor(max_workers=len(TABLES), thread_name_prefix="commit")

    @classmethod
    def create(cls, directory: Path, campaign: Mapping[str, JsonValue]) -> Self:
        """Begin a result in `directory`, made if need be. InputError where it is not empty.

        `campaign["factors"]`, in want of it `campaign["scenario"]["factors"]`, names the factors' columns;
        where `trials` has none of that name, it gets one, of text.
        """
        create_empty_directory(directory)
        with disk_errors(directory):
            for table in TABLES:
                (directory / table).mkdir()
            sync_directory(directory)
            return cls(directory, write_manifest(directory, campaign), lock_directory(directory))

    @classmethod
    def resume(cls, directory: Path) -> Self:
        """Go on with the result in `directory`: only whole trials stay, and the journal is made to agree.

        What else there was is in `repaired`. InputError where it cannot be read, or a later vtax wrote it.
        """
        campaign = read_manifest(directory)
        with disk_errors(directory):
            lock = lock_directory(directory)
        try:
            contents = read_contents(directory, schemas(campaign))
            if contents.unknown:
                raise InputError(f"{directory}: {contents.notes[-1]}; resume it with the vtax that wrote it")
            with disk_errors(directory):
                if contents.journal_problem is not None:
                    set_aside(directory)
                remove_leftovers(directory)
                for table in TABLES:
                    make_directory(directory / table)
                writer = cls(directory, campaign, lock)
                writer._repair(contents)
        except BaseException:
            os.close(lock)
            raise
        return writer

    @property
    def committed(self) -> frozenset[int]:
        """The ids of the trials that are on disk."""
        return frozenset(self._committed)

    def update(self, **fields: JsonValue) -> None:
        """Set top-level fields of campaign.json, such as `status`."""
        with disk_errors(self.directory):
            self.campaign = write_manifest(self.directory, {**self.campaign, **fields})

    def keep_files(self, files: Mapping[str, bytes]) -> None:
        """Put what the campaign was given beside its scenario into the result."""
        if files:
            with disk_errors(self.directory):
                make_directory(self.directory / FILES)
                for name, content in files.items():
                    replace_file(self.directory / FILES / name, content)

    def check(self, record: TrialRecord) -> None:
        """Raise ValueError, which names table and column, where the numbers of a trial fit no column."""
        for table, rows in self._rows_of(record).items():
            if table not in TRIAL_TABLES:  # all integers of 64 bits, as they were told
                _table(table, self._schemas[table], rows, whole(record.trial["trial_id"]))

    def commit(self, record: TrialRecord) -> None:
        """Put the trial on disk; it is durable and visible to readers on return.

        ValueError, before anything is written, for a record that does not fit the schema or was committed
        already. DiskError where the disk fails: all earlier trials are still committed, and the same record
        may be committed again.
        """
        trial_id, block = whole(record.trial["trial_id"]), whole(record.trial["block"])
        if trial_id in self._committed:
            raise ValueError(f"trial {trial_id} is committed already")
        added = self._arrow(record)
        # A block's first commit writes all of its parts: that makes them, or drops what a crash left in them.
        rewritten = [table for table in BLOCK_TABLES if added[table].num_rows or block != self._block]
        earlier = self._rows if block == self._block else self._load(block)
        # One chunk a column: with one a trial, writing would cost more with every trial of the block.
        rows = {
            table: pa.concat_tables([earlier[table], added[table]]).combine_chunks() for table in BLOCK_TABLES
        }
        self._block = None  # stays so if the disk fails below: the parts are then no longer what _rows says
        entry = Entry(trial_id, block, {table: added[table].num_rows for table in TABLES})
        with disk_errors(self.directory):
            if record.capture:
                write_capture(self.directory, trial_id, record.capture)
            self._write_trial(block, trial_id, added)
            self._write(block, rows, rewritten)
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

    def _write(self, block: int, rows: Mapping[str, pa.Table], tables: Sequence[str]) -> None:
        # Flushes side by side share the file system's journal commits.
        beside = [table for table in tables if table != "trials"]
        paths = {table: part_path(self.directory, table, block) for table in tables}
        list(self._disk.map(lambda table: write_part(paths[table], rows[table]), beside))
        write_part(paths["trials"], rows["trials"])

    def _write_trial(self, block: int, trial_id: int, rows: Mapping[str, pa.Table]) -> None:
        for table in TRIAL_TABLES:
            path = trial_part_path(self.directory, table, block, trial_id)
            if rows[table].num_rows:
                write_part(path, rows[table])
            else:
                remove_file(path)  # of a trial with this id that was never committed

    def _load(self, block: int) -> dict[str, pa.Table]:
        entries = by_block(self._committed.values()).get(block, [])
        if not entries:
            return {name: schema.empty_table() for name, schema in self._schemas.items()}
        found = read_block(self.directory, self._schemas, block, entries)
        if found.damaged:
            raise InputError(
                f"{found.damaged[0]}; nothing can be added to this block now. vtax run SCENARIO --resume "
                f"{self.directory} measures again what is lost"
            )
        return found.rows_of(entries)

    def _repair(self, contents: Contents) -> None:
        """Rewrite the blocks that lost something without their lost trials, and bring the journal in line.

        Their files stay as copies: what cannot be copied, because it cannot be read just now, stays untouched.
        """
        self.repaired = contents.damaged
        for number, block in contents.blocks.items():
            if block.damaged:
                for part in (part_path(self.directory, table, number) for table in BLOCK_TABLES):
                    if os.path.lexists(part):
                        _keep_copy(part)
                self._write(number, block.rows_of(block.whole), BLOCK_TABLES)
                whole = {entry.trial_id for entry in block.whole}
                for table in TRIAL_TABLES:
                    for trial_id, part in trial_parts(self.directory, table, number).items():
                        if trial_id not in whole:
                            part.rename(part.with_name(f"{part.name}.damaged"))
        self._committed = {entry.trial_id: entry for entry in contents.whole}
        self._journal.hold(contents.whole)
        if lost := contents.lost:
            self.repaired.append(f"trials that lost rows and are measured again: {len(lost)}")

    def _arrow(self, record: TrialRecord) -> dict[str, pa.Table]:
        rows, trial_id = self._rows_of(record), whole(record.trial["trial_id"])
        return {
            table: _table(table, schema, rows[table], trial_id) for table, schema in self._schemas.items()
        }

    def _rows_of(self, record: TrialRecord) -> dict[str, Sequence[Row]]:
        counts = {"trials": 1, **{name: len(getattr(record, name)) for name in TABLES if name != "trials"}}
        return {
            "trials": [{**record.trial, "row_counts": json.dumps(counts)}],
            "flows": record.flows,
            "series": record.series,
            "cpu": record.cpu,
            "hops": record.hops,
            "latency": record.latency,
            "stages": record.stages,
            "packets": record.packets,
            "environment": record.environment,
            "canary": record.canary,
            "searches": record.searches,
            "samples": record.samples,
        }


def _keep_copy(part: Path) -> None:
    """Copy a part that is damaged; what is no part at all is moved there."""
    aside = part.with_name(f"{part.name}.damaged")
    if is_regular(part) and part.stat().st_size <= PART_BYTES:
        replace_file(aside, read_file(part, PART_BYTES))
    else:
        part.rename(aside)


def _table(name: str, schema: pa.Schema, rows: Sequence[Row], trial_id: int) -> pa.Table:
    """Turn one trial's rows of a table into Arrow. ValueError names the table and what does not fit."""
    if not rows:
        return schema.empty_table()
    for row in rows:
        if unknown := row.keys() - set(schema.names):
            raise ValueError(
                f"{name}: unknown column {', '.join(sorted(unknown))}; it has {', '.join(schema.names)}"
            )
        if row.get("trial_id", trial_id) != trial_id:
            raise ValueError(f"{name}: a row of trial {row['trial_id']} in the record of trial {trial_id}")
    given = {"trial_id"}.union(*rows)
    columns = []
    for column in schema:
        if column.name not in given:
            columns.append(pa.nulls(len(rows), column.type))
            continue
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
