"""A block's part of a table: one Parquet file, `<table>/block-0000.parquet`.

Of tables with many rows each trial has a part of its own, `<table>/block-0000-trial-000001.parquet`: a block's would be
written again with each of its trials.
"""

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vtax.inputs import InputError
from vtax.results.bounds import PART_BYTES, PART_ROWS, PARTS
from vtax.results.files import read_file, replace_file

SMALL_BYTES = 128 * 1024
"""A column of no more is compressed by snappy, which is read sooner; a larger one by zstd, which makes less of it."""
KEPT_BYTES = 32 * 1024
"""What a part of no more held is kept."""

NAMES = re.compile(r"block-([0-9]{4})(?:-trial-([0-9]{6,15}))?\.parquet")
"""Of parts."""
EMPTY = b"vtax.empty"
"""Under this key a file's metadata has the names of its columns that have no value."""


class DamagedPartError(Exception):
    """A part is missing or is no Parquet file of this table; the message says which."""


@dataclass(frozen=True)
class Part:
    """A part's rows as this vtax's schema has them, and the columns in which its own differs from that."""

    rows: pa.Table
    absent: frozenset[str] = frozenset()
    """Columns that an earlier vtax did not write; null in `rows`."""
    unknown: frozenset[str] = frozenset()
    """Columns that a later vtax wrote; not in `rows`."""


def part_path(directory: Path, table: str, block: int) -> Path:
    """Return the file that holds this block's rows of this table."""
    return directory / table / f"block-{block:04d}.parquet"


def trial_part_path(directory: Path, table: str, block: int, trial_id: int) -> Path:
    """Return the file that holds a trial's rows of a table with many."""
    return directory / table / f"block-{block:04d}-trial-{trial_id:06d}.parquet"


def trial_parts(directory: Path, table: str, block: int) -> dict[int, Path]:
    """Every such file of a block, by its trial."""
    found = list_parts(directory, table)
    return {
        part.trial_id: path
        for path, part in found.items()
        if part.block == block and part.trial_id is not None
    }


class Numbers(NamedTuple):
    """What the name of a part says: its block, and its trial, if it is of one alone."""

    block: int
    trial_id: int | None


def list_parts(directory: Path, table: str) -> dict[Path, Numbers]:
    """Every part of a table, in the order of their names. InputError where there are too many files."""
    place = directory / table
    if not place.is_dir():
        return {}
    with os.scandir(place) as files:
        names = sorted(file.name for file in islice(files, PARTS + 1))
    if len(names) > PARTS:
        raise InputError(
            f"{place}: more than {PARTS:,} files; a table of a result has fewer: remove what is not its own"
        )
    read = {name: NAMES.fullmatch(name) for name in names}
    return {
        place / name: Numbers(int(told[1]), None if told[2] is None else int(told[2]))
        for name, told in read.items()
        if told
    }


def write_part(path: Path, rows: pa.Table) -> None:
    """Replace the part, atomically and durably."""
    replace_file(path, encoded(rows))


def encoded(rows: pa.Table) -> pa.Buffer:
    """A part's bytes: snappy for columns that zstd would take longer to set up for than to read."""
    return _encoded(rows) if rows.num_rows else _encoded_empty(rows.schema)


@lru_cache(maxsize=64)
def _encoded_empty(schema: pa.Schema) -> pa.Buffer:
    """Kept, because each block of a campaign has the same tables without rows."""
    return _encoded(schema.empty_table())


def _encoded(rows: pa.Table) -> pa.Buffer:
    codecs = {
        name: "zstd" if column.nbytes > SMALL_BYTES else "snappy"
        for name, column in zip(_leaves(rows.schema), rows.columns, strict=True)
    }
    empty = [
        name
        for name, column in zip(rows.column_names, rows.columns, strict=True)
        if column.null_count == len(rows)
    ]
    told = {**(rows.schema.metadata or {}), EMPTY: " ".join(empty)}
    sink = pa.BufferOutputStream()
    pq.write_table(rows.replace_schema_metadata(told), sink, compression=codecs, write_page_checksum=True)
    return sink.getvalue()


def _leaves(schema: pa.Schema) -> list[str]:
    """What Parquet calls each column that has values: a list's are its elements."""
    return [f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name for field in schema]


def read_part(path: Path, schema: pa.Schema) -> Part:
    """Read a part of any version of the format. DamagedPartError where it is missing or damaged."""
    try:
        content = read_file(path, PART_BYTES)
        return (_kept if len(content) <= KEPT_BYTES else _decoded)(content, schema)
    except FileNotFoundError:
        raise DamagedPartError("missing") from None
    except OSError as error:
        raise DamagedPartError(f"damaged ({error.strerror or error})") from error
    except (pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise DamagedPartError(f"damaged ({error})") from error


def _decoded(content: bytes, schema: pa.Schema) -> Part:
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        if file.metadata.num_rows > PART_ROWS:
            raise DamagedPartError(f"damaged (it has more than {PART_ROWS:,} rows)")
        names = set(file.schema_arrow.names)
        told = names & set(schema.names) - empty_columns(file.metadata)
        found = file.read(columns=sorted(told), use_threads=False)
        number = file.metadata.num_rows
    columns = [
        _column(found[field.name], field.type) if field.name in told else nulls(number, field.type)
        for field in schema
    ]
    rows = pa.Table.from_arrays(columns, schema=schema)
    if "trial_id" not in names:
        raise DamagedPartError("damaged (it has no trial_id)")
    known = set(schema.names)
    return Part(rows, frozenset(known - names), frozenset(names - known))


_kept = lru_cache(maxsize=256)(_decoded)
"""Of small parts: most blocks have the same ones without rows, and a result may be read again."""


def empty_columns(metadata: pq.FileMetaData) -> set[str]:
    """The columns of which the file says that they have no value: in every table those of other kinds of workload.

    Arrow's statistics say so too, but a look at those of a file that somebody forged can end the process.
    """
    told = (metadata.metadata or {}).get(EMPTY, b"")
    return set(told.decode().split()) if told else set()


def _column(found: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """What was read, as the type that is wanted."""
    if found.null_count == len(found):
        return nulls(len(found), wanted)
    return found if found.type == wanted else found.cast(wanted)


@lru_cache(maxsize=256)
def nulls(rows: int, wanted: pa.DataType) -> pa.ChunkedArray:
    """So many nulls; kept, so that those of all columns and blocks share their memory."""
    return pa.chunked_array([pa.nulls(rows, wanted)])
