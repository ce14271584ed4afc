"""Models of users' files as JSON Schemas, by which editors complete and check them."""

from typing import Any

from pydantic import TypeAdapter

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(model: Any, title: str) -> dict[str, Any]:
    """The JSON Schema of a file that `model` reads, as the file is written: a word where it stands for no number."""
    schema: dict[str, Any] = _written(TypeAdapter(model).json_schema(mode="validation"))
    return {"$schema": DIALECT, **schema, "title": title}


def _written(node: Any) -> Any:
    """Defaults as a file may give them: the word for None where there is one, else none at all."""
    if isinstance(node, list):
        return [_written(item) for item in node]
    if not isinstance(node, dict):
        return node
    found = {name: _written(value) for name, value in node.items()}
    if "default" in found and found["default"] is None:
        del found["default"]
        words = [kind["const"] for kind in found.get("anyOf", ()) if "const" in kind]
        found |= {"default": words[0]} if words else {}
    return found
