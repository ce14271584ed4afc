"""What a table of a result is: columns with type, unit and meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, TypeAlias

import pyarrow as pa

INT32, INT64, DOUBLE, STRING, BOOL = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()
STRINGS: Final = pa.list_(pa.string())
INSTANT: Final = pa.timestamp("us", tz="UTC")

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


@dataclass(frozen=True)
class Column:
    """One column: `unit` is empty for names, labels and structured text."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str

    @cached_property
    def field(self) -> pa.Field:
        """The Arrow field, with unit and meaning as its metadata."""
        return pa.field(self.name, self.type, metadata={"unit": self.unit, "meaning": self.meaning})


@dataclass(frozen=True)
class Table:
    """One table: what a row is, and its columns in order. Values that are unknown or missing are null."""

    name: str
    row: str
    columns: tuple[Column, ...]

    def schema(self, further: Sequence[str] = ()) -> pa.Schema:
        """The Arrow schema, with a string column for each of the `further` factors of a campaign."""
        factors = (Column(name, STRING, "", "level of this factor, as text") for name in further)
        return pa.schema([column.field for column in (*self.columns, *factors)])


TRIAL_ID: Final = Column("trial_id", INT64, "", "number of the trial, unique in the campaign")
