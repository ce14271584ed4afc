"""Columns of a result's tables, as who records something declares them: what a value is, and its unit."""

from dataclasses import asdict, dataclass
from enum import StrEnum

from pydantic import JsonValue


class ColumnType(StrEnum):
    """The types of values, by the names that Arrow has for them."""

    INT32 = "int32"
    INT64 = "int64"
    DOUBLE = "double"
    STRING = "string"
    BOOL = "bool"
    STRINGS = "list<item: string>"
    INSTANT = "timestamp[us, tz=UTC]"


@dataclass(frozen=True)
class Column:
    """One column: `unit` is empty for names, labels and structured text."""

    name: str
    type: ColumnType
    unit: str
    meaning: str
    is_level: bool = False
    """Whether all trials of a cell have the same in it, so that cells can differ by it."""

    def as_json(self) -> dict[str, JsonValue]:
        """As campaign.json lists it."""
        return asdict(self)
