"""The document of `vtax export --format json`. Its rows have the columns of the data set, which are public as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Literal, TypeVar

import pyarrow as pa
from pydantic import ConfigDict, Field, JsonValue, create_model
from pydantic.fields import FieldInfo

from vtax.documents.base import Document, Moment, Part
from vtax.results.schema import TABLES, TRIALS, Table
from vtax.results.schema.table import Column

Model = TypeVar("Model", bound=Part)

TYPES: Mapping[Callable[[pa.DataType], bool], object] = {
    pa.types.is_integer: int | None,
    pa.types.is_floating: float | None,
    pa.types.is_boolean: bool | None,
    pa.types.is_string: str | None,
    pa.types.is_list: list[str] | None,
    pa.types.is_timestamp: Moment | None,
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
    """A row of `trials`, which also has a text for each further factor of the campaign."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str | None]


def _type(column: pa.DataType) -> object:
    return next(kind for is_kind, kind in TYPES.items() if is_kind(column))


def _meaning(column: Column) -> str:
    return f"{column.meaning} [{column.unit}]" if column.unit else column.meaning


def _row(table: Table) -> type[Part]:
    fields = {
        column.name: (_type(column.type), Field(description=_meaning(column))) for column in table.columns
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
