"""All rows of a result as CSV files, or as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from vtax.documents.export import ExportHead
from vtax.inputs import InputError
from vtax.results import Result
from vtax.results.files import create_empty_directory
from vtax.spreadsheets import FORMULA, QUOTE, harmless

ROWS_AT_ONCE = 10_000


def write_csv_files(result: Result, directory: Path) -> list[Path]:
    """Write `<table>.csv` for each table into a new or empty directory; their paths.

    Lists are JSON text, what is unknown is empty, and no text is a formula.

    InputError where the directory is not empty or cannot be written.
    """
    create_empty_directory(directory)
    written = []
    for name, rows in result.tables.items():
        path = directory / f"{name}.csv"
        try:
            pyarrow.csv.write_csv(_flat(rows), path)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}; name a directory with room") from None
        written.append(path)
    return written


def tables_document(result: Result) -> Iterator[str]:
    """Yield the document of `vtax.documents.export` in ASCII, in pieces, since it may not fit into memory."""
    head = ExportHead(campaign=result.campaign, damaged=result.damaged)
    yield _json(head.as_json())[:-1] + ', "tables": {'
    for position, (name, rows) in enumerate(result.tables.items()):
        yield (", " if position else "") + _json(name) + ": ["
        yield from _rows(rows)
        yield "]"
    yield "}}\n"


def _rows(rows: pa.Table) -> Iterator[str]:
    first = True
    for batch in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
        for row in _of_numbers(batch).to_pylist():
            yield ("\n" if first else ",\n") + _json(row)
            first = False


def _of_numbers(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with null for NaN and infinities, which JSON does not have."""
    columns = [
        pc.if_else(pc.is_finite(column), column, None) if pa.types.is_floating(column.type) else column
        for column in rows.columns
    ]
    return pa.record_batch(columns, schema=rows.schema)


def _json(value: object) -> str:
    """Return JSON in ASCII, without the one control character that ASCII has beyond those which JSON escapes."""
    return json.dumps(value, default=_text).replace("\x7f", r"\u007f")


def _flat(rows: pa.Table) -> pa.Table:
    """Return a table whose columns CSV can hold, and whose texts are no formulas."""
    return pa.table(list(map(_as_cells, rows.columns)), names=list(map(harmless, rows.column_names)))


def _as_cells(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if pa.types.is_list(column.type):
        return _as_json(column)
    if not pa.types.is_string(column.type):
        return column
    quoted = pc.binary_join_element_wise(QUOTE, column, "")
    return pc.if_else(pc.match_substring_regex(column, FORMULA), quoted, column)


def _as_json(column: pa.ChunkedArray) -> pa.Array:
    texts = (None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist())
    return pa.array(texts, pa.string())


def _text(value: datetime) -> str:
    return value.isoformat()
