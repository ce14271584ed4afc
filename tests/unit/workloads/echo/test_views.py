"""Round trips through one router among many as the views show them, beside what the paper prints."""

import math
from pathlib import Path

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.echo import MadeEcho
from vtax.model.bound import Bound
from vtax.model.metrics import RESPONSE_TIME
from vtax.model.table import text_of
from vtax.views import as_json, write_report
from vtax.views.cell_tables import cell_table
from vtax.views.summary import summarise
from vtax.workloads.echo.catalogue import BESIDE

PAPER = {"source": {"paper": "anhalt2009", "section": "IV.C.2"}}


def test_a_round_trip_is_the_mean_over_repetitions_with_its_interval(tmp_path: Path) -> None:
    trials = [MadeEcho(0, 90), MadeEcho(1, 110), MadeEcho(2, 5000, verdict="invalid")]
    stressed = [MadeEcho(block, 900, guests=4, others="tcp") for block in range(2)]
    idle, busy = summarise(make(tmp_path / "r", [*trials, *stressed])).measured
    mean = idle.estimate(RESPONSE_TIME)
    assert mean is not None
    assert (mean.value, mean.n, idle.left_out) == (100_000, 2, pytest.approx(1 / 3))
    assert mean.has_interval
    assert idle.estimate(BESIDE) is None
    beside = busy.estimate(BESIDE)
    assert beside is not None
    assert beside.value == 300
    assert busy.setting.label == "others forwarding TCP, 56-byte echoes every 10 ms"


def test_what_nobody_answered_is_lost_and_has_no_round_trip(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [MadeEcho(block, None) for block in range(2)])
    summary = summarise(result)
    (row,) = cell_table(summary, "echoes").sections[0].rows
    assert [text_of(cell) for cell in row][2:4] == ["–", "100.00"]
    assert summary.has_usable
    assert summary.sentences[0].text == (
        "passes echoes through one of 2 guests never with others idle, 56-byte echoes every 10 ms; no trial left out."
    )


def test_a_mean_without_all_answers_is_a_lower_bound(tmp_path: Path) -> None:
    trials = [MadeEcho(block, 90 + block, lost=0.25 if block == 1 else 0.0) for block in range(3)]
    summary = summarise(make(tmp_path / "r", trials))
    mean = summary.measured[0].estimate(RESPONSE_TIME)
    assert mean is not None
    assert (mean.bound, mean.value, mean.high) == (Bound.AT_LEAST, 91_000, math.inf)
    (row,) = cell_table(summary, "echoes").sections[0].rows
    assert text_of(row[2]).startswith("≥91.0")
    assert summary.sentences[0].text.startswith(
        "passes echoes through one of 2 guests in at least 91.0 µs with others idle"
    )


def test_published_round_trips_stand_apart_as_other_hardware(tmp_path: Path) -> None:
    trials = [
        *(MadeEcho(block, 90, others=others) for block in range(2) for others in ("idle", "tcp")),
        *(MadeEcho(block, 900, platform="uml", emulated=True) for block in range(2)),
    ]
    table = cell_table(summarise(make(tmp_path / "r", trials, scenario=PAPER)), "echoes")
    titles = [section.title for section in table.sections]
    assert titles == [
        "others idle, 56-byte echoes every 10 ms",
        "others idle, 56-byte echoes every 10 ms: emulated CPU",
        "others forwarding TCP, 56-byte echoes every 10 ms",
        "others idle, published (IV.C.2, Table III): IBM eServer 326m, 2 x AMD Opteron 246, 1 GbE",
        "others forwarding TCP, published (IV.C.2, Table III): IBM eServer 326m, 2 x AMD Opteron 246, 1 GbE",
    ]
    printed = [[text_of(cell) for cell in row][:3] for section in table.sections[3:] for row in section.rows]
    assert printed[0] == ["classical Linux", "1", "84.0"]
    assert printed[-1] == ["Xen 3.2", "8", "3,852"]
    assert "no ratio" in table.note
    own = summarise(make(tmp_path / "own", trials))
    assert own.published == {"echoes": []}


def test_every_view_shows_echoes_and_nothing_of_frames(tmp_path: Path) -> None:
    summary = summarise(
        make(tmp_path / "r", [MadeEcho(block, 90 + block) for block in range(3)], scenario=PAPER)
    )
    (cell,) = as_json(summary)["cells"]
    assert (cell["level"], cell["metrics"]["latency_mean_ns"]["value"]) == ({"guests": 2}, 91_000)
    assert summary.sentences[0].text.startswith(
        "passes echoes through one of 2 guests in 91.0 µs with others idle"
    )
    page = write_report(summary).read_text()
    assert "Round trips through one router among many" in page
    assert "nothing to show" not in page
    assert summary.loads.throughput == []
