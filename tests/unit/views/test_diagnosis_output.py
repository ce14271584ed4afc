"""What is said of a loss: on the terminal, as JSON, in the report."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.json_schema import broken
from tests.helpers.results.causes import BUSY_RAW, CALM_RAW, CAPPED, HOGGED, make_causes
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.results import Result
from vtax.views import as_json, write_report

EMULATED = replace(CALM_RAW, platform="qemu-virtio", emulated=True)
SLOWER = replace(EMULATED, platform="qemu-e1000", delay_ns=90_000.0)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A hog, a capped port, and a platform with an emulated CPU that is slow for no reason that is recorded."""
    trials = (BUSY_RAW, HOGGED, CALM_RAW, CAPPED, EMULATED, SLOWER)
    return make_causes(tmp_path_factory.mktemp("causes") / "r", *trials)


def test_the_command_prints_a_sentence_a_cell(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(result.directory)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    native, emulated = printed.split("Emulated CPU: compared only with each other, never a hypervisor's cost")
    assert native.startswith(
        "Causes container, intended_mbps = 100 receives 40.0 Mbit/s, 60.1 less than raw ("
    )
    assert re.search(r'UUT egress dropped 60\.1 Mbit/s \([^)]*\) more, "queue full \(dropped_queue', native)
    assert "container, intended_mbps = max receives 50.1 Mbit/s" in native
    assert "qemu-e1000, intended_mbps = 100 has a median delay of 89.9 µs" in emulated
    assert "more than qemu-virtio (" in emulated and "Unexplained" in emulated
    assert (
        "Significant loss of throughput or time in 3 of 4 cells with a reference (intervals at " in emulated
    )


def test_the_document_of_the_command_is_that_of_show(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(result.directory), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert broken(document, document_schema("diagnose")) == []
    assert document.pop("format_version") == 2
    assert document == json.loads(json.dumps(as_json(result)["diagnosis"]))
    hogged = document["findings"][1]
    assert (hogged["cell"], hogged["reference"]) == (HOGGED.cell, BUSY_RAW.cell)
    (loss,) = hogged["losses"]
    assert loss["quantity"] == "received_mbps"
    sides = loss["measured"], loss["reference"]
    assert [side["n"] for side in sides] == [4, 4]
    assert all(side["low"] <= side["value"] <= side["high"] for side in sides)
    assert sides[1]["value"] - sides[0]["value"] == pytest.approx(loss["lost"]["value"])
    cause = hogged["causes"][0]
    assert (cause["kind"], cause["unit"]) == ("taken", "%")
    assert cause["account"] == {"domain": "host", "guest": None, "component": "foreign"}
    assert cause["more"]["n"] == 4
    assert document["compared"] == 4


def test_the_report_says_why(result: Result) -> None:
    page = write_report(result).read_text()
    why = page.partition('<section id="why" ')[2].partition("</section>")[0]
    assert "Causes of loss and delay" in why and why.count("<li>") == 3
    assert why.index("Emulated CPU: compared only with each other") < why.index("qemu-e1000")
    assert "UUT egress dropped 60.1 Mbit/s" in why and "&#34;queue full" in why


def test_a_result_without_a_reference_has_no_such_section(tmp_path: Path) -> None:
    page = write_report(make_causes(tmp_path / "r", CALM_RAW)).read_text()
    assert 'id="why"' not in page
