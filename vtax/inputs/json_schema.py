"""Models of users' files as JSON Schemas, by which editors complete and check them."""

from pydantic import BaseModel, JsonValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(model: type[BaseModel], title: str) -> dict[str, JsonValue]:
    """The JSON Schema of a file that `model` reads, as the file is written: a word where it stands for no number."""
    return {"$schema": DIALECT, **_written(model.model_json_schema(mode="validation")), "title": title}


def _written(node: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Defaults as a file may give them: the word for None where there is one, else none at all."""
    found = {name: _below(value) for name, value in node.items()}
    if "default" in found and found["default"] is None:
        del found["default"]
        kinds = found.get("anyOf")
        for kind in kinds if isinstance(kinds, list) else ():
            if isinstance(kind, dict) and "const" in kind:
                found["default"] = kind["const"]
                break
    return found


def _below(node: JsonValue) -> JsonValue:
    if isinstance(node, list):
        return [_below(item) for item in node]
    return _written(node) if isinstance(node, dict) else node
