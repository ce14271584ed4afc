"""What the keys of a scenario file are made of: mappings without surprises, fields that say what they allow."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict, TypeVar, Unpack, get_args, get_origin, overload

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    PlainSerializer,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from vtax.columns import Column, ColumnType

T = TypeVar("T")

Mark = Literal["short", "laid_for"]
MARKS: tuple[Mark, ...] = get_args(Mark)
"""What `AsFactor` has."""

Scalar = str | int | float | bool

PLATFORM_KEY = r"[a-z][a-z0-9_]*"
"""The pattern of a key of a platform kind; what the kinds allow is checked where the kinds are known."""


@dataclass(frozen=True)
class Marks:
    """What a field says of itself as a factor and as a column; no part of its JSON Schema."""

    said: tuple[Mark, ...]
    unit: str | None


class Keys(BaseModel):
    """A mapping with a fixed set of keys and no conversion between kinds of values."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Constraints(TypedDict, total=False):
    """Pydantic's constraints of a key, by pydantic's names."""

    ge: float
    gt: float
    le: float
    lt: float
    min_length: int
    max_length: int
    pattern: str
    discriminator: str


class AsFactor(TypedDict, total=False):
    """What a key is as a factor."""

    short: bool
    """Whether it goes by its name alone, as `streams`, and so does its column; else by its section's too."""
    laid_for: bool
    """Whether testbed and guests are set up for its value, so that another value needs others."""


class AsColumn(TypedDict, total=False):
    """What a key is as a column of `trials`; one that says nothing has none."""

    unit: str
    """What its values are in, empty for text."""


class Told(Constraints, AsFactor, AsColumn, total=False):
    """What a key says beside its meaning."""


class Given(Told, total=False):
    """The same, and its default."""

    default: object
    default_factory: Callable[[], object]


@overload
def key(meaning: str, allowed: str, **given: Unpack[Told]) -> FieldInfo: ...
@overload
def key(meaning: str, allowed: str, *, default: T, **given: Unpack[Told]) -> T: ...
@overload
def key(meaning: str, allowed: str, *, default_factory: Callable[[], T], **given: Unpack[Told]) -> T: ...
def key(meaning: str, allowed: str, **given: Unpack[Given]) -> object:
    """A key with its meaning and what it allows, in words.

    One that has to be given stands in its annotation, `Annotated[int, key(...)]`; one with a default is assigned.
    """
    marks = Marks(tuple(mark for mark in MARKS if given.pop(mark, False)), given.pop("unit", None))
    # No overload of Field takes a default that may be missing, as `given` has it.
    field: FieldInfo = Field(description=meaning, json_schema_extra={"allowed": allowed}, **given)  # type: ignore[call-overload]
    field.metadata.append(marks)
    return field


def marked(keys: type[Keys], mark: Mark) -> list[str]:
    """The names of the keys that say so of themselves, in their order."""
    return [
        name
        for name, field in keys.model_fields.items()
        if any(mark in marks.said for marks in _marks(field))
    ]


def columns_of(keys: type[Keys]) -> Iterator[Column]:
    """A column for each key that names a unit, with the type of its values and its meaning."""
    for name, field in keys.model_fields.items():
        for marks in _marks(field):
            if marks.unit is not None:
                meaning = field.description or ""
                yield Column(name, _type_of(field.annotation), marks.unit, meaning, is_level=True)


def _type_of(annotation: object) -> ColumnType:
    """The type of values that have this annotation: of one kind, or null. TypeError for any other."""
    literal = get_origin(annotation) is Literal
    kinds = (
        {type(each) for each in get_args(annotation)}
        if literal
        else {*(get_args(annotation) or (annotation,))}
    )
    (kind,) = kinds - {type(None)}
    return {int: ColumnType.INT32, float: ColumnType.DOUBLE, str: ColumnType.STRING, bool: ColumnType.BOOL}[
        kind
    ]


def _marks(field: FieldInfo) -> Iterator[Marks]:
    return (each for each in field.metadata if isinstance(each, Marks))


@dataclass(frozen=True)
class Named:
    """Reads a word as None, the value that has no number of `unit`; in a JSON Schema the word stands for null."""

    word: str
    unit: str

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of the number, behind what reads the word."""
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, number: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of what a file holds."""
        found = handler(number)
        kinds = [kind for kind in found.get("anyOf", ()) if kind != {"type": "null"}]
        return {**found, "anyOf": [*kinds, {"const": self.word}]} if kinds else found

    def _read(self, value: JsonValue) -> JsonValue:
        if value == self.word:
            return None
        if value is None or isinstance(value, str):
            shown = "null" if value is None else f'"{value}"'
            raise ValueError(
                f"{shown} is not a number of {self.unit}; allowed: a number alone, or {self.word}"
            )
        return value


def written(name: str) -> PlainSerializer:
    """Writes None as the word `name`."""
    return PlainSerializer(lambda value: name if value is None else value, when_used="json")


def slug(pattern: str, example: str) -> AfterValidator:
    """Text of that pattern, as in `example`."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f'"{value}" is not such a name; allowed: lower-case words as in {example}')
        return value

    return AfterValidator(check)


def _scalar(value: JsonValue) -> Scalar:
    if isinstance(value, str | int | float | bool):
        return value
    kind = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "null"
    raise ValueError(f"{kind} is not a plain value; allowed: text, a number, true or false")


PlainScalar = Annotated[Scalar, BeforeValidator(_scalar)]
