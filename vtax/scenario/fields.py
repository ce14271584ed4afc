"""What the keys of a scenario file are made of: mappings without surprises, fields that say what they allow."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Scalar = str | int | float | bool

PLATFORM_KEY = r"[a-z][a-z0-9_]*"
"""The pattern of a key of a platform kind; what the kinds allow is checked where the kinds are known."""


class Keys(BaseModel):
    """A mapping with a fixed set of keys and no conversion between kinds of values."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def key(meaning: str, allowed: str, **constraints: Any) -> Any:
    """A key with its meaning and what it allows, in words; `constraints` are pydantic's."""
    return Field(description=meaning, json_schema_extra={"allowed": allowed}, **constraints)


@dataclass(frozen=True)
class Named(BeforeValidator):
    """A validator that reads a word as None; in a JSON Schema the word stands where null would."""

    word: str = ""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of what a file holds."""
        found = handler(core_schema)
        kinds = [kind for kind in found.get("anyOf", ()) if kind != {"type": "null"}]
        return {**found, "anyOf": [*kinds, {"const": self.word}]} if kinds else found


def named(name: str, unit: str) -> Named:
    """Reads the word `name` as None, the value that has no number."""

    def read(value: Any) -> Any:
        if value == name:
            return None
        if value is None or isinstance(value, str):
            shown = "null" if value is None else f'"{value}"'
            raise ValueError(f"{shown} is not a number of {unit}; allowed: a number alone, or {name}")
        return value

    return Named(read, word=name)


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


def _scalar(value: Any) -> Any:
    if isinstance(value, str | int | float | bool):
        return value
    kind = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "null"
    raise ValueError(f"{kind} is not a plain value; allowed: text, a number, true or false")


PlainScalar = Annotated[Scalar, BeforeValidator(_scalar)]
