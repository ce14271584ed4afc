"""What a table of a result is: columns with type, unit and meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import pyarrow as pa

from vtax.columns import Column, ColumnType

INT32, INT64, DOUBLE, STRING, BOOL, STRINGS, INSTANT = ColumnType
ARROW: Final = {
    INT32: pa.int32(),
    INT64: pa.int64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BOOL: pa.bool_(),
    STRINGS: pa.list_(pa.string()),
    INSTANT: pa.timestamp("us", tz="UTC"),
}
"""What files and views hold of each type."""

Value: TypeAlias = bool | int | float | str | datetime | Sequence[str] | None
"""What a row has in a column."""
Row: TypeAlias = Mapping[str, Value]
"""Values by the names of their columns; columns left out are null."""


def whole(value: object) -> int:
    """A whole number, as a column or JSON has it; TypeError for null and any other value."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def text(value: object) -> str:
    """A text, likewise."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def number(value: object) -> float:
    """A number, likewise."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return value


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of columns, each with its unit and meaning as metadata."""
    return pa.schema(
        pa.field(column.name, ARROW[column.type], metadata={"unit": column.unit, "meaning": column.meaning})
        for column in columns
    )


@dataclass(frozen=True)
class Table:
    """One table: what a row is, and its columns in order. Values that are unknown or missing are null."""

    name: str
    row: str
    columns: tuple[Column, ...]


TRIAL_ID: Final = Column("trial_id", INT64, "", "number of the trial, unique in the campaign")
