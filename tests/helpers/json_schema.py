"""JSON Schema as far as vtax's schemas use it: which places of a document break one. Other keywords are an error."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

ANNOTATIONS = {"$schema", "$defs", "title", "description", "default", "format"}
TYPES: Mapping[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
VALUES: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": lambda value, name: TYPES[name](value),
    "const": lambda value, only: value == only,
    "enum": lambda value, words: value in words,
    "minimum": lambda value, least: value >= least,
    "maximum": lambda value, most: value <= most,
    "exclusiveMinimum": lambda value, below: value > below,
    "exclusiveMaximum": lambda value, above: value < above,
    "minItems": lambda value, least: len(value) >= least,
    "maxItems": lambda value, most: len(value) <= most,
}
"""Keywords about a value alone."""


def broken(document: object, schema: Schema) -> list[str]:
    """Return each place of a document that breaks a schema, and how."""
    return list(_broken(document, schema, "", schema.get("$defs", {})))


def _broken(value: Any, schema: Schema, place: str, defined: Schema) -> Iterator[str]:
    schema = _resolved(schema, defined)
    if "type" in schema and not TYPES[schema["type"]](value):
        yield f"{place}: {value!r} is no {schema['type']}"
        return
    unknown = schema.keys() - ANNOTATIONS - VALUES.keys() - INNER.keys() - {"required"}
    assert not unknown, f"{place}: this helper does not know {unknown}"
    for keyword, rule in schema.items():
        if keyword in VALUES and not VALUES[keyword](value, rule):
            yield f"{place}: {value!r} breaks {keyword} {rule!r}"
        if keyword in INNER:
            for name, inner, wanted in INNER[keyword](value, rule, schema):
                yield from _broken(inner, wanted, f"{place}{name}", defined)
    yield from (f"{place}: no {name}" for name in schema.get("required", ()) if name not in value)
    if "anyOf" in schema:
        options = [_resolved(option, defined) for option in schema["anyOf"]]
        fitting = [option for option in options if TYPES[option["type"]](value)]
        found = [list(_broken(value, option, place, defined)) for option in fitting]
        if not fitting:
            yield f"{place}: {value!r} is none of {[option['type'] for option in options]}"
        elif all(found):
            yield from found[0]
    if schema.get("additionalProperties") is False:
        yield from (f"{place}: {name} is not declared" for name in _further(value, schema))


def _resolved(schema: Schema, defined: Schema) -> Schema:
    """Return a schema with what it refers to in place of the reference."""
    if "$ref" not in schema:
        return schema
    inner: Schema = defined[schema["$ref"].removeprefix("#/$defs/")]
    return {**inner, **{name: rule for name, rule in schema.items() if name != "$ref"}}


def _further(value: Any, schema: Schema) -> list[str]:
    return [name for name in value if name not in schema.get("properties", {})]


Inner = Iterator[tuple[str, Any, Schema]]
INNER: Mapping[str, Callable[[Any, Any, Schema], Inner]] = {
    "items": lambda value, rule, _: ((f"[{number}]", item, rule) for number, item in enumerate(value)),
    "properties": lambda value, rule, _: (
        (f".{name}", value[name], rule[name]) for name in rule if name in value
    ),
    "additionalProperties": lambda value, rule, schema: (
        (f".{name}", value[name], rule) for name in _further(value, schema) if isinstance(rule, dict)
    ),
    "propertyNames": lambda value, rule, _: ((f".{name}", name, rule) for name in value),
    "anyOf": lambda value, rule, schema: iter(()),
}
"""Keywords about what is inside a value: its name there, itself, and its schema."""
