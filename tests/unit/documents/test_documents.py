"""Each document that is printed is one that its schema allows, and docs/documents.md lists them all."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main
from pydantic import ValidationError

from tests.helpers.glossary import refused_names
from tests.helpers.json_schema import broken
from tests.helpers.paths import ROOT
from tests.helpers.results.recorded import KINDS, unpack
from tests.helpers.words import offences
from vtax.cli import app, main
from vtax.commands.schema import Described as Known
from vtax.doctor import Check
from vtax.doctor.document import checks_document
from vtax.documents.base import Document, Estimate, Part
from vtax.documents.export import Described
from vtax.documents.schema import DOCUMENTS, document_schema
from vtax.results.schema import FLOWS
from vtax.views.metrics import ALL

Captured = pytest.CaptureFixture[str]
Schema = dict[str, Any]

PRINTED: Mapping[str, Callable[[str], list[str]]] = {
    "claims": lambda kind: ["claims", kind, f"{kind}-again", "--json"],
    "compare": lambda kind: ["compare", kind, f"{kind}-again", "--json"],
    "diagnose": lambda kind: ["diagnose", kind, "--json"],
    "export": lambda kind: ["export", kind, "--format", "json"],
    "history": lambda _: ["history", ".", "--json"],
    "show": lambda kind: ["show", kind, "--json"],
}
"""How a document of a result is printed."""
OF_NO_RESULT = {"ab", "doctor", "run", "trace"}
SHARED = {"testbed check": "doctor"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_is_what_the_schema_allows(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    unpack(kind, tmp_path)
    monkeypatch.chdir(tmp_path)
    refused = main(PRINTED[name](kind)) == 2
    printed = capsys.readouterr().out
    assert refused == (printed == "")
    if not refused:
        assert problems(name, json.loads(printed)) == []
        DOCUMENTS[name].model_validate_json(printed)


def test_there_is_a_test_of_each_document() -> None:
    assert {*PRINTED} | OF_NO_RESULT == {*DOCUMENTS}


@pytest.fixture
def compared(tmp_path: Path, capsys: Captured) -> dict[str, Any]:
    """A document with objects in lists and in objects."""
    unpack("forwarding", tmp_path)
    assert main(["compare", f"{tmp_path / 'forwarding'}", f"{tmp_path / 'forwarding-again'}", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("place", [(), ("changes", 0), ("changes", 0, "before")])
def test_a_field_that_is_not_declared_is_refused(
    compared: dict[str, Any], place: tuple[str | int, ...]
) -> None:
    changed: Any = compared
    for step in place:
        changed = changed[step]
    changed["more"] = 1
    assert ["more is not declared" in found for found in problems("compare", compared)] == [True]
    with pytest.raises(ValidationError, match="more\n  Extra inputs are not permitted"):
        DOCUMENTS["compare"].model_validate_json(json.dumps(compared))


@pytest.mark.parametrize(
    ("field", "value"),
    [("within", 1.0), ("verdicts", {"worse": -1}), ("verdicts", {"bad": 1}), ("a", 1), ("format_version", 1)],
)
def test_a_value_beyond_its_bounds_is_refused(compared: dict[str, Any], field: str, value: object) -> None:
    compared[field] = value
    assert [found.startswith(f".{field}") for found in problems("compare", compared)] == [True]
    with pytest.raises(ValidationError, match=field):
        DOCUMENTS["compare"].model_validate_json(json.dumps(compared))


def test_a_number_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Estimate(value=math.nan, low=None, high=None, n=1, left_out=0.0, bound="exact")


def test_checks_are_what_the_schema_allows() -> None:
    checks = [
        Check("machine", "agent", False, "not built", "make build"),
        Check("platforms", "raw", True, "usable", None, "none", {"kernel": "6.1"}),
    ]
    document = checks_document(checks).as_json()
    assert problems("doctor", document) == []
    assert [check["fix"] for check in document["checks"]] == ["make build", None]


FURTHER = {"anyOf": [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]}
"""What a row of `trials` has beside the columns that all campaigns have."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_requires_every_field_and_allows_no_other(name: str) -> None:
    schema = document_schema(name)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert {"const", "type"} <= {*properties["format_version"]}
    for title, found in objects(schema):
        fields = found["properties"]
        assert isinstance(fields, dict)
        assert sorted(found["required"]) == sorted(fields), title
        further = found["additionalProperties"]
        assert further == FURTHER if title == "TrialsRow" else not further
        assert [field for field, about in fields.items() if not about["description"]] == [], title


@pytest.mark.parametrize("name", DOCUMENTS)
def test_fields_are_described_and_named_by_the_glossary(name: str) -> None:
    models = {
        model
        for model in parts(DOCUMENTS[name])
        if issubclass(model, Document) or not issubclass(model, Described)
    }
    names = {field for model in models for field in model.model_fields}
    assert {name for name in names if {name, name.removesuffix("s")} & refused_names()} == set()
    texts = {str(model.__doc__) for model in models}
    texts |= {str(field.description) for model in models for field in model.model_fields.values()}
    assert {text: found for text in texts if (found := list(offences(text)))} == {}


def test_a_quantity_is_named_as_its_column_and_ends_in_its_unit() -> None:
    columns = {column.name for column in FLOWS.columns}
    ends = {"Mbit/s": "_mbps", "µs": "_ns", "%": "_ratio", "% CPU": "percent", "1/s": "_per_s"}
    for metric in ALL:
        assert metric.column.endswith(ends[metric.unit])
        assert f"latency_{metric.column}" not in columns


def test_each_command_that_prints_json_has_a_document() -> None:
    printing = {words for words, command in commands() if any("--json" in one.opts for one in command.params)}
    assert {SHARED.get(words, words) for words in printing} == {*DOCUMENTS} - {"export"}


def test_the_command_knows_each_schema(capsys: Captured) -> None:
    for name in DOCUMENTS:
        assert main(["schema", name]) == 0
        assert json.loads(capsys.readouterr().out) == document_schema(name)
    assert {*DOCUMENTS} < {*Known}


def test_the_page_lists_each_document_with_its_version() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|", (ROOT / "docs/documents.md").read_text(), re.M)
    assert rows == [
        (name, str(document.model_fields["format_version"].default)) for name, document in DOCUMENTS.items()
    ]


def problems(name: str, document: object) -> list[str]:
    """What a document has against its schema."""
    return broken(document, document_schema(name))


def objects(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The objects with declared fields in a schema, each with its title."""
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    for found in (schema, *definitions.values()):
        assert isinstance(found, dict)
        if "properties" in found:
            yield str(found["title"]), found


def parts(model: type[Part]) -> Iterator[type[Part]]:
    """The types that a document is made of."""
    yield model
    for field in model.model_fields.values():
        for inner in inside(field.annotation):
            yield from parts(inner)


def inside(annotation: object) -> Iterator[type[Part]]:
    """The types of parts in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from inside(argument)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Each command of vtax with the words that it is called by."""
    for name, command in typer.main.get_command(app).commands.items():
        yield name, command
        for inner, below in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", below
