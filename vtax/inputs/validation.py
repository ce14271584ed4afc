"""Pydantic's verdict on a document in the file's own terms: key, value, what is allowed, a near miss."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from vtax.inputs.document import Document, InputError, Loc, advised, suggestion

if TYPE_CHECKING:
    from typing_extensions import TypeForm

MOST_PROBLEMS = 20
"""As many as are told of one document; the rest is seen when these are mended."""

M = TypeVar("M", bound=BaseModel)

_UNITS = {"s": "seconds", "ms": "milliseconds", "ns": "nanoseconds", "mbps": "Mbit/s", "bytes": "bytes"}
_WRONG_NUMBER = {"int_type", "int_parsing", "int_from_float", "float_type", "float_parsing", "finite_number"}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
"""How a bound is called, by its name in a field and in pydantic's context."""
_OUT_OF_BOUNDS = {
    "greater_than": "too small",
    "greater_than_equal": "too small",
    "less_than": "too large",
    "less_than_equal": "too large",
}


def validate(model: type[M], document: Document, data: JsonValue = None, at: tuple[str, ...] = ()) -> M:
    """`data`, or else what stands in `document` at `at`, as a `model`.

    Raises InputError with the problems, one a line.
    """
    if data is None:
        data = document.value(at)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found, count = _problems(model, error), error.error_count()
    lines = [str(document.error((*at, *loc), problem)) for loc, problem in found]
    if count > len(found):
        lines.append(f"{document.path}: {count - len(found)} problems more")
    raise InputError("\n".join(lines))


def problems(model: type[BaseModel], data: JsonValue) -> list[tuple[Loc, str]]:
    """What keeps `data` from being a `model`: where in `data`, and what is wrong and allowed there."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        return _problems(model, error)
    return []


def value_problem(error: ValidationError) -> str:
    """What is wrong with a single value, as of an option, and what is allowed: in the words that documents get."""
    detail = error.errors()[0]
    _, is_choice, listed = detail["msg"].partition(" is not one of ")
    if is_choice:  # typer's sentence, which alone has the choices
        choices = re.findall(r"'([^']*)'", listed)
        near = suggestion(str(detail["input"]), choices)
        return advised(f"{_shown(detail['input'])} is not allowed", near, f"allowed: {', '.join(choices)}")
    bounds = ", ".join(_bounds(detail.get("ctx") or {}))
    return _wrong_value(detail, None, f"; allowed: {bounds}" if bounds else "")


def allowed(field: FieldInfo) -> str:
    """What a key may hold, in words: the field's own `allowed`, else its choices or bounds, else nothing."""
    if isinstance(field.json_schema_extra, dict) and "allowed" in field.json_schema_extra:
        return str(field.json_schema_extra["allowed"])
    if choices := _choices(field.annotation):
        return ", ".join(choices)
    constraints = [
        {name: getattr(constraint, name) for name in _BOUNDS if hasattr(constraint, name)}
        for constraint in field.metadata
    ]
    return ", ".join(bound for constraint in constraints for bound in _bounds(constraint))


def _bounds(of: Mapping[str, float]) -> list[str]:
    return [f"{word} {of[name]}" for name, word in _BOUNDS.items() if of.get(name) is not None]


def _problems(model: type[BaseModel], error: ValidationError) -> list[tuple[Loc, str]]:
    return [_problem(model, detail) for detail in error.errors()[:MOST_PROBLEMS]]


def _problem(model: type[BaseModel], detail: ErrorDetails) -> tuple[Loc, str]:
    kind, loc = detail["type"], detail["loc"]
    if kind.startswith("union_tag"):
        loc, problem = _wrong_tag(model, detail)
    elif kind == "missing":
        field = _field(model, loc)
        meaning = f": {field.description}" if field and field.description else ""
        loc, problem = loc[:-1], f'key "{loc[-1]}" is missing{meaning}{_hint(field)}'
    elif kind == "extra_forbidden":
        problem = _unknown_key(model, loc)
    else:
        field = _field(model, loc)
        problem = _wrong_value(detail, field, _hint(field))
    return _without_tags(model, loc), problem


def _wrong_tag(model: type[BaseModel], detail: ErrorDetails) -> tuple[Loc, str]:
    """The key that tells models apart is missing, or has a value that none of them has."""
    loc, field = detail["loc"], _field(model, detail["loc"])
    name = str(detail["ctx"]["discriminator"]).strip("'")
    tags = list(_union(field)) if field else []
    if detail["type"] == "union_tag_not_found":
        return loc, f'key "{name}" is missing; allowed: {", ".join(tags)}'
    tag = str(detail["ctx"]["tag"])
    return (*loc, name), advised(
        f'"{tag}" is not allowed', suggestion(tag, tags), f"allowed: {', '.join(tags)}"
    )


def _wrong_value(detail: ErrorDetails, field: FieldInfo | None, hint: str) -> str:
    """What is wrong with a value; `hint` says what its key may hold."""
    loc, kind, shown = detail["loc"], detail["type"], _shown(detail["input"])
    match kind:
        case "literal_error":
            near = suggestion(str(detail["input"]), _choices(field.annotation) if field else ())
            problem = advised(f"{shown} is not allowed", near, f"allowed: {allowed(field) if field else ''}")
        case "value_error":
            problem = str(detail["ctx"]["error"])
        case "bool_type" | "bool_parsing":
            problem = f"{shown} is neither true nor false"
        case "string_type":
            problem = f"{shown} is not text; put it in quotes"
        case "list_type":
            problem = f"{shown} is not a list; put its values in brackets, as in [1, 2]"
        case "model_type" | "dict_type" | "model_attributes_type":
            problem = f"{shown} is not a mapping; lines of the form `key: value` are expected"
        case _ if kind in _OUT_OF_BOUNDS:
            problem = f"{shown} is {_OUT_OF_BOUNDS[kind]}{hint}"
        case _ if kind in _WRONG_NUMBER:
            problem = f"{shown} is not a {_number(kind, _name(loc), detail['input'])}{hint}"
        case _:
            problem = f"{shown}: {detail['msg'][:1].lower()}{detail['msg'][1:]}{hint}"
    return problem


def _hint(field: FieldInfo | None) -> str:
    options = allowed(field) if field else ""
    return f"; allowed: {options}" if options else ""


def _unknown_key(model: type[BaseModel], loc: Loc) -> str:
    """An unknown key, with the near miss beside it or the same name elsewhere in the file."""
    parent = _model(model, loc[:-1])
    siblings = list(_fields(parent)) if parent else []
    key = str(loc[-1])
    near = suggestion(key, siblings)
    if not near:
        elsewhere = {dotted.rpartition(".")[2]: dotted for dotted in _dotted_keys(model)}
        near = suggestion(elsewhere.get(key, ""), elsewhere.values())
    return advised(f'unknown key "{key}"', near, f"allowed: {', '.join(siblings)}")


def _number(kind: str, key: str, value: JsonValue) -> str:
    """The number that was expected, as "whole number of bytes", with advice where a unit was typed."""
    whole = "whole number" if kind.startswith("int") else "number"
    unit = _UNITS.get(key.rpartition("_")[2])
    typed_unit = isinstance(value, str) and re.fullmatch(r"[\d.]+\s*[A-Za-z/]+", value)
    alone = "; the unit stands in the key's name, write the number alone" if unit and typed_unit else ""
    return whole + (f" of {unit}" if unit else "") + alone


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _name(loc: Loc) -> str:
    return next((part for part in reversed(loc) if isinstance(part, str)), "")


def _field(model: type[BaseModel], loc: Loc) -> FieldInfo | None:
    """The field that `loc` names; for an item of a list, the list's field."""
    while loc and isinstance(loc[-1], int):
        loc = loc[:-1]
    parent = _model(model, loc[:-1])
    return _fields(parent).get(str(loc[-1])) if parent and loc else None


def _model(model: type[BaseModel], loc: Loc) -> type[BaseModel] | None:
    """The model of the mapping at `loc`; None where that is not a model of its own."""
    found: type[BaseModel] | None = model
    union: dict[str, type[BaseModel]] = {}
    among_items = False
    for part in loc:
        if part in union:
            found, union = union[str(part)], {}
        elif among_items:
            among_items = False
        else:
            field = _fields(found).get(str(part)) if found else None
            union = _union(field) if field else {}
            found = _submodel(field.annotation) if field else None
            among_items = field is not None and _has_items(field)
    return None if among_items else found


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the keys that documents have for them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _has_items(field: FieldInfo) -> bool:
    """Whether it holds items, each at a place of its own, by number or name."""
    return any(
        get_origin(option) in (list, dict) for option in (field.annotation, *get_args(field.annotation))
    )


def _without_tags(model: type[BaseModel], loc: Loc) -> Loc:
    """`loc` in the document, which has no place for the tag that tells the models of a union apart."""
    kept: list[str | int] = []
    for number, part in enumerate(loc):
        before = _field(model, loc[:number]) if number else None
        if before is None or part not in _union(before) or not _is_union(model, loc[:number]):
            kept.append(part)
    return tuple(kept)


def _is_union(model: type[BaseModel], loc: Loc) -> bool:
    """Whether `loc` names the field of a union itself, and not one of its models already."""
    parent = _model(model, loc[:-1])
    return parent is not None and loc[-1] in _fields(parent)


def _union(field: FieldInfo) -> dict[str, type[BaseModel]]:
    """The models of a union by their tags; empty where the field is none."""
    name = field.discriminator if isinstance(field.discriminator, str) else None
    return _tagged(field.annotation, name) if name else {}


def _tagged(annotation: "TypeForm[object] | None", name: str) -> dict[str, type[BaseModel]]:
    """The models among the options of an annotation, by the values of their field `name`."""
    return {
        tag: option
        for option in get_args(annotation)
        if isinstance(option, type) and issubclass(option, BaseModel) and name in option.model_fields
        for tag in _choices(option.model_fields[name].annotation)
    }


def _submodel(annotation: "TypeForm[object] | None") -> type[BaseModel] | None:
    """The first model that an annotation names, be it of items."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for option in get_args(annotation) if (found := _submodel(option))), None)


def _dotted_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    keys = []
    for name, field in _fields(model).items():
        submodel = None if _has_items(field) else _submodel(field.annotation)
        keys += _dotted_keys(submodel, f"{prefix}{name}.") if submodel else [prefix + name]
    return keys


def _choices(annotation: "TypeForm[object] | None") -> tuple[str, ...]:
    """The values of a Literal, also inside a list or an optional."""
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    return tuple(choice for option in get_args(annotation) for choice in _choices(option))
