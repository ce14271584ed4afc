"""The trials behind a number: all of them, in the order measured, each with its verdict and values."""

import json
import re
from pathlib import Path

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks
from vtax import views
from vtax.views import summarise, trials
from vtax.views.trials import embedded

CELL = "platform=raw streams=1 frame_bytes=64 intended_mbps=100"


def test_every_trial_stands_there_with_verdict_reasons_and_values(tmp_path: Path) -> None:
    made = [
        *blocks([90.0, 80.0], delay_ns=4_000, host_percent=20.0),
        Made(block=2, verdict="invalid", reasons=("clock stepped",), marks=("link-limited",)),
        *blocks([70.0, 75.0], platform="container"),
    ]
    found = summarise(make(tmp_path / "r", made)).trials
    assert list(found.numbers.values()) == [0, 1]
    cell = found.cells[CELL]
    assert cell.name == "raw, 64-byte frames, 1 stream, 100 Mbit/s"
    assert cell.blocks == (0, 1, 2)
    assert cell.verdicts == (0, 0, 2)
    assert cell.notes == ("", "", "clock stepped; link-limited")
    assert cell.values["throughput"] == (90.0, 80.0, 100.0)
    assert cell.values["loss"] == (10.0, 20.0, 0.0)
    assert cell.values["latency_p50"][:2] == (4.0, 4.0)
    assert cell.values["cpu"][0] == 18.5
    assert [metric.name for metric in found.metrics] == [
        "throughput",
        "loss",
        "latency_p50",
        "latency_p99",
        "cpu",
    ]
    assert len(json.dumps(embedded(found), allow_nan=False)) < 1_000


def test_points_and_rows_of_the_page_lead_to_their_own_cell(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [*blocks([90.0, 80.0]), *blocks([70.0, 75.0], platform="container")])
    page = views.write_report(result).read_text(encoding="utf-8")
    cells = json.loads(page.split('id="trials">')[1].split("</script>")[0])["cells"]
    rows = re.findall(r'<tr data-platform="(\w+)" data-trials="(\d+)">', page)
    assert {platform for platform, _ in rows} == {"raw", "container"}
    assert all(cells[int(number)][0].startswith(f"{platform}, ") for platform, number in rows)
    plots = json.loads(page.split('id="plots">')[1].split("</script>")[0])
    named = [trace for plot in plots.values() for trace in plot["data"] if "customdata" in trace]
    assert named
    for trace in named:
        assert all(cells[number][0].startswith(f"{trace['name']}, ") for number in trace["customdata"])


def test_too_many_trials_are_named_and_not_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "MOST_TRIALS", 3)
    result = make(tmp_path / "r", blocks([90.0, 80.0, 85.0, 86.0]))
    assert not summarise(result).trials.cells
    page = views.write_report(result).read_text(encoding="utf-8")
    assert "too many trials for one page" in page
    assert "data-trials=" not in page
