"""A block's part of a table: one Parquet file, `<table>/block-0000.parquet`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vtax.results.files import replace_file
from vtax.results.journal import Entry


class DamagedPartError(Exception):
    """A part is missing, is no Parquet file, or does not hold what the journal says it does."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


def part_path(directory: Path, table: str, block: int) -> Path:
    """Return the file that holds this block's rows of this table."""
    return directory / table / f"block-{block:04d}.parquet"


def write_part(path: Path, rows: pa.Table) -> None:
    """Replace the part, atomically and durably."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    replace_file(path, sink.getvalue())


def read_block(
    directory: Path, schemas: Mapping[str, pa.Schema], block: int, entries: Sequence[Entry]
) -> dict[str, pa.Table]:
    """Return each table's rows of the block's committed trials (`entries`), and no others.

    A writer at work only ever adds rows of trials that `entries` does not name, so parts read one after the
    other are consistent with each other. DamagedPartError names the first part that cannot be trusted.
    """
    return {
        table: _read_part(part_path(directory, table, block), table, schemas[table], entries)
        for table in schemas
    }


def _read_part(path: Path, table: str, schema: pa.Schema, entries: Sequence[Entry]) -> pa.Table:
    try:
        rows = pq.ParquetFile(path).read().select(schema.names).cast(schema)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise DamagedPartError(path, f"missing or damaged ({error})") from error
    committed = pa.array([entry.trial_id for entry in entries], pa.int64())
    rows = rows.filter(pc.is_in(rows["trial_id"], value_set=committed))
    expected = sum(entry.rows.get(table, 0) for entry in entries)
    if rows.num_rows != expected:
        raise DamagedPartError(
            path, f"holds {rows.num_rows} rows of committed trials, the journal says {expected}"
        )
    return rows
