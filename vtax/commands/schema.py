"""`vtax schema`: JSON Schemas of the files that users write, and of the documents that vtax prints."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.listing import print_json

if TYPE_CHECKING:
    from pydantic import JsonValue


class Described(StrEnum):
    """Whatever has a schema: four kinds of files, then documents by the command that prints them."""

    SCENARIO = "scenario"
    TESTBED = "testbed"
    PRESET = "preset"
    TESTBED_FILE = "testbed-file"
    AB = "ab"
    CLAIMS = "claims"
    COMPARE = "compare"
    DIAGNOSE = "diagnose"
    DOCTOR = "doctor"
    EXPORT = "export"
    HISTORY = "history"
    RUN = "run"
    SHOW = "show"
    TRACE = "trace"


def schema(
    what: Annotated[
        Described,
        typer.Argument(help="A kind of file, a part of one, or the command that prints a document."),
    ],
) -> None:
    """Print the JSON Schema of a file or a document.

    Editors complete and check a scenario, its testbed, a platform preset and a testbed file by theirs. A document is
    what a command prints with --json, or with export --format json; that of doctor is also that of testbed check.
    """
    from vtax.documents.schema import DOCUMENTS, document_schema

    print_json(document_schema(what) if what in DOCUMENTS else _file_schema(what), sys.stdout)


def _file_schema(what: Described) -> "dict[str, JsonValue]":
    """Return the schema of a kind of file, or of a part of one."""
    from vtax.inputs.json_schema import json_schema
    from vtax.keys.testbed import TestbedSettings
    from vtax.platforms.preset import preset_model
    from vtax.scenario.schema import ScenarioFile
    from vtax.testbed.remote import TestbedFile

    match what:
        case Described.SCENARIO:
            return json_schema(ScenarioFile, "vtax scenario")
        case Described.TESTBED:
            return json_schema(TestbedSettings, "testbed of a vtax scenario")
        case Described.PRESET:
            return json_schema(preset_model(), "vtax platform preset")
        case _:
            return json_schema(TestbedFile, "vtax testbed file")
