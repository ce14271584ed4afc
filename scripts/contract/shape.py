"""Definitions in the form from which Python's types are made.

Each class is a definition with a name, what may be left out is None, and an enumeration is one list of its words.
"""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from scripts.contract.document import DEFINITIONS, Schema

LEAST_INTEGER, GREATEST_INTEGER = -(2**63), 2**63 - 1
"""The columns of results hold no others."""


def shaped(definitions: dict[str, Schema]) -> dict[str, Schema]:
    """Return the definitions in that form, without descriptions."""
    plain = msgspec.convert(msgspec.to_builtins(definitions), type=dict[str, Schema])
    for name, schema in list(plain.items()):
        _name_variants(name, schema, plain)
    for schema in plain.values():
        for part in parts(schema):
            _simplify(part)
    return plain


def variant_name(name: str, variant: Schema) -> str | None:
    """Return the name of a union's variant that is told by its `kind`; None for others."""
    kind = (variant.properties or {}).get("kind")
    return name + kind.const.title() if kind is not None and kind.const else None


def parts(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and all within it."""
    yield schema
    within = [*(schema.properties or {}).values(), *(schema.one_of or []), *(schema.any_of or [])]
    within += [*(schema.prefix_items or []), *([schema.items] if schema.items else [])]
    if isinstance(schema.additional_properties, Schema):
        within.append(schema.additional_properties)
    for part in within:
        yield from parts(part)


def _name_variants(name: str, schema: Schema, definitions: dict[str, Schema]) -> None:
    """Give the variants that are objects definitions of their own."""
    objects = [variant for variant in schema.one_of or [] if variant.properties]
    names = [variant_name(name, variant) for variant in objects]
    if not objects:
        return
    if all(names):
        schema.discriminator = {"propertyName": "kind"}
        for own, variant in zip(names, objects, strict=True):
            definitions[str(own)] = variant
        schema.one_of = [Schema(ref=f"{DEFINITIONS}{own}") for own in names]
        return
    # Told apart by their one field: an object has one of the fields. The agent refuses several.
    fields = {key: field for variant in objects for key, field in (variant.properties or {}).items()}
    own = f"{name}Fields"
    definitions[own] = Schema(type="object", properties=fields, required=[], additional_properties=False)
    words = [variant for variant in schema.one_of or [] if not variant.properties]
    schema.one_of, schema.any_of = None, [*words, Schema(ref=f"{DEFINITIONS}{own}")]


def _simplify(schema: Schema) -> None:
    schema.description = schema.format = None
    if schema.type == "integer" or (isinstance(schema.type, list) and "integer" in schema.type):
        if schema.minimum is None and schema.exclusive_minimum is None:
            schema.minimum = LEAST_INTEGER
        if schema.maximum is None:
            schema.maximum = GREATEST_INTEGER
    if schema.one_of and all(_words(variant) for variant in schema.one_of):
        schema.enum = [word for variant in schema.one_of for word in _words(variant)]
        schema.type, schema.one_of = "string", None
    required = set(schema.required or [])
    for key, value in (schema.properties or {}).items():
        if key not in required:
            if isinstance(value.default, bool | int | str | float):
                required.add(key)  # the generator then takes the default for what it is
            else:
                (schema.properties or {})[key] = _optional(value)
    if schema.properties:
        schema.required = [key for key in schema.properties if key in required]


def _words(variant: Schema) -> list[str]:
    return variant.enum or ([variant.const] if variant.const and variant.type == "string" else [])


def _optional(schema: Schema) -> Schema:
    """Return what None is allowed for, which is also its default."""
    schema.default = UNSET
    if isinstance(schema.type, list) and "null" in schema.type:
        return msgspec.structs.replace(schema, default=None)
    if schema.any_of and any(each.type == "null" for each in schema.any_of):
        return msgspec.structs.replace(schema, default=None)
    return Schema(any_of=[schema, Schema(type="null")], default=None)
