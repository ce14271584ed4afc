"""The result of a campaign over several testbeds: each block is committed to it when it arrives."""

import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

import vtax
from vtax.campaign.needs import needs_of
from vtax.cluster.testbeds import TestbedsFile
from vtax.cluster.work import Order, unpack
from vtax.inputs import InputError
from vtax.results import Delivered, MergedWriter
from vtax.results.files import disk_errors
from vtax.scenario import Scenario

ARRIVED = ".arrived-"
"""Where a block is unpacked before it is committed."""
CAMPAIGN_ID = "campaign_id"
"""The key of campaign.json by which testbeds know what they measured for this campaign."""


def begin(directory: Path, scenario: Scenario, seed: int) -> MergedWriter:
    """Begin the result of all blocks of `scenario`. InputError where the directory is not empty."""
    manifest: dict[str, JsonValue] = {
        "vtax_version": vtax.__version__,
        **scenario.described(),
        "seed": seed,
        "created_at": datetime.now(UTC).isoformat(),
        "status": "running",
        "command": [*sys.argv],
        CAMPAIGN_ID: uuid.uuid4().hex,
    }
    writer = MergedWriter.begin(directory, manifest)
    writer.keep_files(scenario.files())
    return writer


def check_going_on(campaign: Mapping[str, JsonValue], directory: Path) -> None:
    """Raise InputError where campaign.json tells of another vtax's campaign, or of one of one testbed alone."""
    if not re.fullmatch(r"[0-9a-f]{32}", str(campaign.get(CAMPAIGN_ID))):
        raise InputError(f"{directory}: its campaign was no one of several testbeds; leave out --testbeds")
    if (version := campaign.get("vtax_version")) != vtax.__version__:
        raise InputError(f"{directory}: its vtax version is {version}, not {vtax.__version__}")


def go_on(directory: Path) -> MergedWriter:
    """Go on with such a result. InputError where it cannot be read, or another writes it."""
    writer = MergedWriter.resume(directory)
    for arrived in directory.glob(f"{ARRIVED}*"):  # when this campaign was killed
        shutil.rmtree(arrived)
    writer.update(status="running")
    return writer


def order_of(writer: MergedWriter, scenario: Scenario, file: TestbedsFile) -> Order:
    """What testbeds are told of the campaign. All that it needs has been granted."""
    told = writer.campaign
    manifest = {key: told[key] for key in ("vtax_version", "seed", "created_at", "command")}
    return {
        "id": str(told[CAMPAIGN_ID]),
        "manifest": {**manifest, **scenario.described(), "status": "interrupted"},
        "files": scenario.files(),
        "allow": sorted({need.kind for need in (*needs_of(scenario), *file.needs)}),
        "run_with": file.run_with,
        "testbed": file.testbed,
    }


def take(writer: MergedWriter, block: int, testbed: str, content: bytes) -> pa.Table:
    """Commit a block that a testbed delivered; returns its rows of `trials`.

    ValueError where it is none of this campaign's, or not whole; DiskError where the disk fails.
    """
    with (
        disk_errors(writer.directory),
        tempfile.TemporaryDirectory(prefix=ARRIVED, dir=writer.directory) as arrived,
    ):
        try:
            unpack(content, Path(arrived))
            delivered = Delivered.open(Path(arrived), testbed)
            delivered.check_same(writer.campaign)
            return writer.adopt(delivered, block)
        except InputError as error:
            raise ValueError(str(error)) from None
