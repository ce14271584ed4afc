"""The document of `vtax export --format json`. Its rows have the columns of the data set, which are public as well."""

from __future__ import annotations

from collections.abc import Mapping
from types import GenericAlias
from typing import Literal, TypeVar

from pydantic import ConfigDict, Field, JsonValue, create_model
from pydantic.fields import FieldInfo

from vtax.columns import Column, ColumnType
from vtax.documents.base import Document, Moment, Part
from vtax.results.schema import TABLES, TRIALS, Table

Model = TypeVar("Model", bound=Part)

TYPES: Mapping[ColumnType, object] = {
    ColumnType.INT32: int | None,
    ColumnType.INT64: int | None,
    ColumnType.DOUBLE: float | None,
    ColumnType.BOOL: bool | None,
    ColumnType.STRING: str | None,
    ColumnType.STRINGS: list[str] | None,
    ColumnType.INSTANT: Moment | None,
}
"""The type of a value in JSON, by what its column's type is; null is unknown, missing or not applicable."""


class ExportHead(Document):
    """Everything but the tables."""

    format_version: Literal[1] = 1
    """Version of the document's form."""
    campaign: dict[str, JsonValue]
    """Content of `campaign.json`, which has a format version of its own."""
    damaged: list[str]
    """Parts of the result that could not be read, a sentence each."""


class Described(Part):
    """An object whose fields bring their descriptions along: those of the columns."""

    model_config = ConfigDict(use_attribute_docstrings=False)


class Untabled(Described, ExportHead):
    """What tables are added to."""


class TrialRow(Described):
    """A row of `trials`, which also has what the kind of workload records, and a text for each further factor."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str | int | float | bool | None]


def _meaning(column: Column) -> str:
    return f"{column.meaning} [{column.unit}]" if column.unit else column.meaning


def _row(table: Table) -> type[Part]:
    fields = {
        column.name: (TYPES[column.type], Field(description=_meaning(column))) for column in table.columns
    }
    base = TrialRow if table is TRIALS else Described
    about = f"A row of `{table.name}`: {table.row}."
    return _made(f"{table.name.capitalize()}Row", base, about, fields)


def _made(
    name: str, base: type[Model], about: str, fields: Mapping[str, tuple[object, FieldInfo]]
) -> type[Model]:
    """Return the type with these fields, which are known when vtax runs."""
    made: type[Model] = create_model(name, __base__=base, __doc__=about, **fields)  # type: ignore[call-overload]
    return made


Tables = _made(
    "Tables",
    Described,
    "The rows of each table, in the order of trials.",
    {
        name: (GenericAlias(list, (_row(table),)), Field(description=f"Each is {table.row}."))
        for name, table in TABLES.items()
    },
)
Export = _made(
    "Export",
    Untabled,
    "Everything that a result holds (docs/results.md).",
    {"tables": (Tables, Field(description="The rows of each table."))},
)
