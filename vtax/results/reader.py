"""Reading a result with SQL, also while its campaign still writes.

The tables are loaded into memory as Arrow when the result is opened, and DuckDB queries them there. That
makes a result one consistent snapshot, immune to parts being replaced under a running query, and lets every
access of DuckDB to files, network and extensions be off for good: nothing has to stay allowed for it to read
its data. It is affordable because packets are counted, not stored: most tables have a few kilobytes for each
stream of a trial, and `samples` some tens of bytes for each iteration of a micro-benchmark.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Self, TypeVar, cast
from warnings import catch_warnings

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.results.contents import is_small, read_contents
from vtax.results.files import is_written
from vtax.results.manifest import read_manifest
from vtax.results.mending import mend
from vtax.results.schema import FLOWS, TABLES, Value, schemas
from vtax.results.stored import StoredCampaign, StoredScenario, adaptive_key
from vtax.results.whole import read_whole

SHARED_OUT_ROWS = 122_880
"""What DuckDB gives to a thread at a time; where no table has more, further threads only cost time."""

KEPT_ROWS = 10_000
KEPT_BYTES = 1 << 20
"""Of an answer that is kept for who asks the same again."""

Settings = dict[str, str | bool | int | float | list[str]]

CLOSED_WORLD: Settings = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # else an unknown table may be found among Python's variables
    "temp_directory": "",
}

RETURNED: Settings = {
    "allocator_flush_threshold": "16MB",
    "allocator_bulk_deallocation_flush_threshold": "16MB",
}
"""From so much on, DuckDB gives memory back after a query: else some 400 MB stay while the next result is read."""

RowType = TypeVar("RowType", bound=Struct)
Rows = tuple[tuple[str, ...], list[tuple[Value, ...]]]
"""The names of columns, and the rows."""


@dataclass(frozen=True)
class Result:
    """The committed trials of a campaign as they stood when it was opened.

    `damaged` names each key of campaign.json that has another shape than vtax writes, and each file that is missing
    or damaged, with what is lost by it: a trial without its rows in `trials` or `flows` does not appear, one without
    those of another table does. `notes` says in what a result of another version differs. The status of a campaign
    that was killed reads as `cut short`.
    """

    directory: Path
    campaign: dict[str, JsonValue]
    tables: dict[str, pa.Table]
    damaged: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path | str, tables: Collection[str] = TABLES) -> Self:
        """Load the result in directory `path`. InputError where there is none.

        Only `tables` are kept, `trials` and `flows` among them: another is unknown to queries.
        """
        directory = Path(path)
        campaign = read_manifest(directory)
        if campaign.get("status") == "running" and not is_written(directory):
            campaign = read_manifest(directory)  # it may have ended just now
            if campaign.get("status") == "running":
                campaign["status"] = "cut short"
        mended = mend(campaign)
        expected = schemas(campaign)
        at_once = campaign.get("status") != "running" and not is_small(directory, expected)
        whole = read_whole(directory, expected, tables) if at_once else None
        contents = whole or read_contents(directory, expected)
        kept = {name: contents.tables.get(name, expected[name].empty_table()) for name in tables}
        return cls(directory, campaign, kept, [*mended, *contents.damaged], contents.notes)

    def before(self, block: int) -> Self:
        """Return the result of the trials of the blocks before that one alone."""
        trials = self.tables["trials"]
        return replace(self, tables={**self.tables, "trials": trials.filter(pc.less(trials["block"], block))})

    @property
    def stored(self) -> StoredCampaign:
        """What campaign.json says, key by key, of the shapes that it was mended to."""
        return cast("StoredCampaign", self.campaign)

    @property
    def scenario(self) -> StoredScenario:
        """The campaign's scenario; empty where campaign.json has none."""
        return self.stored.get("scenario") or {}

    @property
    def is_adaptive(self) -> bool:
        """Whether values decided how many repetitions there are, so that intervals have to hold at any number."""
        return adaptive_key(self.scenario) is not None

    @property
    def by_turns(self) -> bool:
        """Whether two levels of a factor were measured by turns, in quads of two blocks."""
        return bool(self.scenario.get("ab"))

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to views of its own: the tables, `traced`, `untraced` and `cells`.

        It reaches nothing else: no files, no network, no extensions, no Python variables, and no way to turn
        them on. `traced` has the trials whose packets were followed, `untraced` all others; `cells` has a row for
        each flow of a valid or suspect one of these, with the columns of both; where both have a column of the same
        name, the flow's is prefixed with `flow_`.
        """
        return self._with_views(_database())

    def query(self, sql: str) -> pa.Table:
        """Return the rows of one SELECT, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN; InputError for all else."""
        try:
            sql.encode()  # DuckDB refuses what is no text with a TypeError that does not say so
            statements = self._connection.extract_statements(sql)
            if len(statements) != 1:
                raise InputError(f"query: {len(statements)} statements; give exactly one")
            if statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
                raise InputError(
                    f"query: {statements[0].type.name} would change something; a result is read with SELECT"
                )
            return self._undone(statements[0].query)
        except duckdb.Error as error:
            raise InputError(f"query: {error}") from None
        except UnicodeEncodeError:
            raise InputError("query: has bytes that are no text in this locale; type it in UTF-8") from None

    def _undone(self, sql: str) -> pa.Table:
        """Return the rows of a statement, and undo what it did: EXPLAIN ANALYZE runs what it explains."""
        self._connection.begin()
        try:
            return self._connection.sql(sql).to_arrow_table()
        finally:
            self._connection.rollback()

    def rows(self, sql: str) -> list[dict[str, Value]]:
        """Return the rows of a SELECT of vtax's own whose columns are not known before: one for each factor."""
        names, rows = self._fetch(sql)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def read(self, sql: str, kind: type[RowType]) -> list[RowType]:
        """Return the rows of a SELECT of vtax's own: of few rows in less time than `columns` takes.

        `kind` names its columns, in their order, with the types that the schema gives them. TypeError where the
        SELECT has others.
        """
        names, rows = self._fetch(sql)
        if names != kind.__struct_fields__:
            raise TypeError(f"{kind.__name__} has the columns {kind.__struct_fields__}, the query {names}")
        return [kind(*row) for row in rows]

    def columns(self, sql: str) -> pa.Table:
        """Return the rows of a SELECT of vtax's own by column, for what computes with many at once."""
        if sql in self._tables_found:
            return self._tables_found[sql]
        executed = self._execute(sql)
        with catch_warnings(action="ignore", category=UserWarning):
            # It warns of a copy. What spares that, a relation, plans the query twice, which takes longer.
            found = executed.to_arrow_table()
        if found.nbytes <= KEPT_BYTES:
            self._tables_found[sql] = found
        return found

    def _fetch(self, sql: str) -> Rows:
        if sql in self._rows_found:
            return self._rows_found[sql]
        executed = self._execute(sql)
        found = tuple(column[0] for column in executed.description), executed.fetchall()
        if len(found[1]) <= KEPT_ROWS:
            self._rows_found[sql] = found
        return found

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Execute a query of vtax's own. ValueError where the result's values or names do not allow it."""
        try:
            return self._connection.execute(sql)
        except duckdb.Error as error:
            raise ValueError(f"query: {error}") from error

    # Views ask the same of a result several times. Of a small one, planning a query takes longer than its answer does;
    # of a large one, answers that are kept would take its memory.
    @cached_property
    def _rows_found(self) -> dict[str, Rows]:
        return {}

    @cached_property
    def _tables_found(self) -> dict[str, pa.Table]:
        return {}

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        few = max(rows.num_rows for rows in self.tables.values()) <= SHARED_OUT_ROWS
        return self._with_views(_database_of_queries(threads=1 if few else os.cpu_count() or 1).cursor())

    def _with_views(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Add the views, which no other connection to the same database has."""
        for name, rows in self.tables.items():
            connection.register(name, rows)
        traced, untraced = self._by_trace()
        connection.register("traced", traced)
        connection.register("untraced", untraced)
        connection.execute(self._cells())
        return connection

    def _by_trace(self) -> tuple[pa.Table, pa.Table]:
        """The trials whose packets were followed, which takes time, so that they carry less, and all others."""
        trials = self.tables["trials"]
        is_traced = pc.fill_null(pc.equal(trials["trace"], "stages"), False)
        if not pc.any(is_traced).as_py():
            return trials.slice(0, 0), trials
        return trials.filter(is_traced), trials.filter(pc.invert(is_traced))

    def _cells(self) -> str:
        of_flows = {column.name for column in FLOWS.columns} - {"trial_id"}
        shared = [name for name in self.tables["trials"].schema.names if name in of_flows]
        flows = f"flows.* EXCLUDE (trial_id, {', '.join(shared)})"
        renamed = ", ".join(f"flows.{name} AS flow_{name}" for name in shared)
        return (  # every name in it is a column of the schema's own
            f"CREATE TEMP VIEW cells AS SELECT untraced.*, {flows}, {renamed} "  # noqa: S608
            "FROM untraced JOIN flows USING (trial_id) WHERE untraced.verdict IN ('valid', 'suspect')"
        )


def _database(settings: Settings | None = None) -> duckdb.DuckDBPyConnection:
    """Connect to an empty database that reaches nothing, for good."""
    connection = duckdb.connect(":memory:", config={**CLOSED_WORLD, **(settings or {})})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@cache
def _database_of_queries(*, threads: int) -> duckdb.DuckDBPyConnection:
    """Return the database that results are queried in: making one takes longer than most queries.

    Queries change nothing in it.
    """
    return _database({"threads": threads, **RETURNED})
