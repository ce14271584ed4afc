"""`vtax schema`: JSON Schemas of the files that users write."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.listing import print_json

if TYPE_CHECKING:
    from pydantic import BaseModel


class Described(StrEnum):
    """The files there is a schema of."""

    SCENARIO = "scenario"
    TESTBED = "testbed"
    PRESET = "preset"
    TESTBED_FILE = "testbed-file"


def schema(what: Annotated[Described, typer.Argument(help="The kind of file, or a part of one.")]) -> None:
    """Print the JSON Schema of a scenario, its `testbed`, a platform preset or a testbed file, for editors."""
    from vtax.inputs.json_schema import json_schema
    from vtax.platforms.preset import preset_model
    from vtax.scenario.links import TestbedSettings
    from vtax.scenario.schema import ScenarioFile
    from vtax.testbed.remote import TestbedFile

    described: dict[Described, tuple[type[BaseModel], str]] = {
        Described.SCENARIO: (ScenarioFile, "vtax scenario"),
        Described.TESTBED: (TestbedSettings, "testbed of a vtax scenario"),
        Described.PRESET: (preset_model(), "vtax platform preset"),
        Described.TESTBED_FILE: (TestbedFile, "vtax testbed file"),
    }
    print_json(json_schema(*described[what]), sys.stdout)
