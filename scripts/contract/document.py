"""The contract as it is read: a keyword that is not known here is an error."""

from pathlib import Path

from msgspec import UNSET, Struct, UnsetType, field, json

DEFINITIONS = "#/$defs/"


class Schema(Struct, forbid_unknown_fields=True, rename="camel", omit_defaults=True, kw_only=True):
    """A JSON Schema, with the keywords that the agent uses."""

    ref: str | None = field(name="$ref", default=None)
    description: str | None = None
    type: str | list[str] | None = None
    format: str | None = None
    const: str | None = None
    enum: list[str] | None = None
    default: str | int | float | bool | list[str] | UnsetType | None = UNSET
    minimum: int | None = None
    exclusive_minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    items: "Schema | None" = None
    prefix_items: "list[Schema] | None" = None
    min_items: int | None = None
    max_items: int | None = None
    properties: "dict[str, Schema] | None" = None
    required: list[str] | None = None
    additional_properties: "bool | Schema | None" = None
    one_of: "list[Schema] | None" = None
    any_of: "list[Schema] | None" = None
    discriminator: dict[str, str] | UnsetType = UNSET

    @property
    def refers_to(self) -> str | None:
        """The name of the definition that this refers to."""
        return self.ref.removeprefix(DEFINITIONS) if self.ref else None


class Bound(Struct, forbid_unknown_fields=True):
    """A bound of params."""

    description: str
    value: int


class Method(Struct, forbid_unknown_fields=True):
    """A method: its description, params and answer."""

    description: str
    params: Schema
    answer: Schema
    answers: str
    list: str | None
    long: bool


class Contract(Struct, forbid_unknown_fields=True):
    """All that the agent can be asked."""

    dialect: str = field(name="$schema")
    title: str
    protocol: int
    bounds: dict[str, Bound]
    methods: dict[str, Method]
    notifications: dict[str, Schema]
    definitions: dict[str, Schema] = field(name="$defs")


def read(path: Path) -> Contract:
    """Return the contract in a file."""
    return json.decode(path.read_bytes(), type=Contract)
