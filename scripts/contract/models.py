"""Python's types of params and answers, as datamodel-code-generator makes them, with the contract's descriptions."""

import ast
import re
import subprocess
import sys
import textwrap

import msgspec

from scripts.contract.document import DEFINITIONS, Contract, Schema
from scripts.contract.shape import shaped, variant_name

WIDTH = 110
NOTHING = "Nothing"
BASE = "vtax.agent_message.Message"
OPTIONS = (
    *("--input-file-type", "openapi", "--openapi-scopes", "schemas"),
    *("--output-model-type", "msgspec.Struct", "--base-class", BASE, "--keyword-only"),
    *("--target-python-version", "3.11", "--use-standard-collections", "--use-union-operator"),
    *("--use-annotated", "--enum-field-as-literal", "all", "--use-default"),
    *("--use-msgspec-tagged-unions", "--disable-timestamp", "--no-formatters"),
)
EXPECTED = "ignore:msgspec.Meta does not take:UserWarning"
"""The length of a tuple is in its type."""


def models(contract: Contract) -> tuple[str, str]:
    """Return the imports that the types need, and the source of the types."""
    schemas = msgspec.json.encode(
        shaped({name: schema for name, schema in contract.definitions.items() if name != NOTHING})
    ).decode()
    schemas = schemas.replace(DEFINITIONS, "#/components/schemas/")
    document = (
        '{"openapi":"3.1.0","info":{"title":"vtax-agent","version":"1"},"paths":{},'
        f'"components":{{"schemas":{schemas}}}}}'
    )
    command = [sys.executable, "-W", EXPECTED, "-m", "datamodel_code_generator", *OPTIONS]
    made = subprocess.run(command, input=document, capture_output=True, text=True, check=False)
    if made.returncode or made.stderr:
        raise SystemExit(f"datamodel-code-generator: {made.stderr.strip()}")
    # What may be left out is None: see `shape`.
    source = made.stdout.replace(" | None | UnsetType = UNSET", " | None = None")
    source = source.replace("(Message, kw_only=True", "(Message, frozen=True, kw_only=True")
    known = {**contract.definitions, **_variants(contract.definitions)}
    imports, types = _parted(_inlined(source, known))
    return imports, _described(types, known)


def _inlined(source: str, known: dict[str, Schema]) -> str:
    """Return the source with its parts of types in their places: aliases that are no definitions."""
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            name, value = node.target.id, ast.unparse(node.value)
            if name not in known:
                source = re.sub(rf"^{name}: TypeAlias = .*\n", "", source, flags=re.MULTILINE)
                source = re.sub(rf"(?<![\w'\"]){name}(?![\w'\"])", value, source)
    return source


def _parted(source: str) -> tuple[str, str]:
    """Return the imports and what follows them."""
    nodes = ast.parse(source).body
    last = max(at for at, node in enumerate(nodes) if isinstance(node, ast.ImportFrom))
    end = nodes[last].end_lineno
    lines = source.splitlines(keepends=True)
    return "\n".join(ast.unparse(node) for node in nodes[: last + 1]), "".join(lines[end:])


def _described(source: str, known: dict[str, Schema]) -> str:
    """Return the source with docstrings of the definitions and their fields."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ClassDef):
            of_class = known[node.name]
            for field in reversed(node.body):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    text = _field_text((of_class.properties or {})[field.target.id], known)
                    lines[field.end_lineno : field.end_lineno] = docstring(text, "    ")
            lines[node.lineno : node.lineno] = [*docstring(of_class.description or "", "    "), ""]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines[node.end_lineno : node.end_lineno] = docstring(_with_words(known[node.target.id]), "")
    return "\n".join(lines) + "\n"


def docstring(text: str, indent: str) -> list[str]:
    """Return the lines of a docstring."""
    room = WIDTH - len(indent)
    quoted = text.replace("\\", "\\\\")
    if len(quoted) + 6 <= room and "\n" not in quoted:
        return [f'{indent}"""{quoted}"""']
    head, *paragraphs = quoted.split("\n\n")
    summary, _, rest = _sentence(head)
    wrapped: list[str] = textwrap.wrap(f'"""{summary}', room)
    for paragraph in [rest, *paragraphs] if rest else paragraphs:
        wrapped += ["", *_wrapped(paragraph, room)]
    return [f"{indent}{line}".rstrip() for line in [*wrapped, '"""']]


def _wrapped(paragraph: str, room: int) -> list[str]:
    """Return the lines of a paragraph; items keep lines of their own."""
    return [
        line
        for item in paragraph.split("\n")
        for line in textwrap.wrap(item, room, subsequent_indent="  " if item.startswith("- ") else "")
    ]


def _sentence(text: str) -> tuple[str, str, str]:
    head, stop, rest = text.partition(". ")
    return (f"{head}.", stop, rest) if stop else (text, "", "")


def _variants(definitions: dict[str, Schema]) -> dict[str, Schema]:
    """Return the variants that got definitions of their own; see `shape`."""
    found: dict[str, Schema] = {}
    for name, schema in definitions.items():
        objects = [variant for variant in schema.one_of or [] if variant.properties]
        for variant in objects:
            if own := variant_name(name, variant):
                found[own] = variant
        if objects and not any(variant_name(name, variant) for variant in objects):
            fields = {
                key: msgspec.structs.replace(field, description=variant.description)
                for variant in objects
                for key, field in (variant.properties or {}).items()
            }
            doc = f"Exactly one field: the variant of `{name}`."
            found[f"{name}Fields"] = Schema(description=doc, properties=fields)
    return found


def _field_text(field: Schema, known: dict[str, Schema]) -> str:
    if field.description:
        return field.description
    return known[field.refers_to].description or "" if field.refers_to else ""


def _with_words(schema: Schema) -> str:
    """Return a description with those of the words of an enumeration."""
    words = [variant for variant in schema.one_of or [] if variant.const and variant.description]
    items = "\n".join(f"- `{word.const}`: {word.description}" for word in words)
    return f"{schema.description}\n\n{items}" if items else schema.description or ""
