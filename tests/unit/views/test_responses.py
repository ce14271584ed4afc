"""Response times as the views show them, what guests add to the bare hosts', beside what the paper prints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.requests import MadeResponses, both
from vtax.model.against import added_to_reference
from vtax.model.metrics import RESPONSE_TIME, TRANSACTIONS
from vtax.model.table import text_of
from vtax.views import as_json, write_report
from vtax.views.cell_tables import added_tables, cell_table
from vtax.views.figures import draw_figures
from vtax.views.summary import summarise

PAPER = {"source": {"paper": "oljira2016", "section": "III.B"}}


def rows_of(table: Any) -> list[list[str]]:
    return [[text_of(cell) for cell in row] for section in table.sections for row in section.rows]


def test_a_mean_has_its_interval_and_the_repetitions_their_deviation(tmp_path: Path) -> None:
    trials = [MadeResponses(0, 90), MadeResponses(1, 110), MadeResponses(2, 5000, verdict="invalid")]
    (cell,) = summarise(make(tmp_path / "r", trials)).measured
    mean, rate = cell.estimate(RESPONSE_TIME), cell.estimate(TRANSACTIONS)
    assert mean is not None
    assert rate is not None
    assert (mean.value, mean.n, cell.left_out) == (100_000, 2, pytest.approx(1 / 3))
    assert mean.has_interval
    assert cell.deviation(RESPONSE_TIME) == pytest.approx(14_142, rel=1e-3)
    assert rate.value == 500
    assert cell.setting.label == "TCP inter-host, answers of equal length"


def test_what_guests_add_is_paired_within_blocks(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [*both(40, 80), *both(500, 600, message_bytes=65536)]))
    found = added_to_reference(summary.measured, RESPONSE_TIME, summary.platforms)
    assert [(row.cell.platform, row.cell.level) for row in found] == [("container", 64), ("container", 65536)]
    for row, step in zip(found, (80, 570), strict=True):  # a thousandth of the longer mean
        added = row.added
        assert (added.value, added.low, added.high, added.n) == (20_000, 20_000 - step, 20_000 + step, 2)
    assert rows_of(*added_tables(summary))[0] == ["container", "64", "+20.0", "2", "0%", "raw"]


@pytest.mark.parametrize(
    ("raw_lost", "container_lost", "added", "said"),
    [
        (0.0, 0.1, "≥+20.0", "at least 20.0 µs more than raw"),
        (0.1, 0.0, "≤+20.0", "not significantly different from raw (95% interval up to +20.1, n = 2)"),
        (0.1, 0.1, "withheld", "cannot be compared with raw's, both with answers that never came"),
    ],
)
def test_what_is_formed_of_times_without_all_answers_is_a_bound(
    raw_lost: float, container_lost: float, added: str, said: str, tmp_path: Path
) -> None:
    lost = {"raw": raw_lost, "container": container_lost}
    trials = [replace(trial, lost=lost[trial.platform]) for trial in both(40, 80)]
    summary = summarise(make(tmp_path / "r", trials))
    assert rows_of(*added_tables(summary))[0][2].startswith(added)
    (sentence,) = (
        each.text for each in summary.sentences if each.text.startswith("answers") and "raw" in each.text
    )
    assert said in sentence


def test_emulated_guests_are_compared_with_each_other_only(tmp_path: Path) -> None:
    trials = [
        *both(40, 50),
        *(MadeResponses(block, 900, platform="uml", emulated=True) for block in range(2)),
        *(MadeResponses(block, 1000, platform="qemu-virtio", emulated=True) for block in range(2)),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    assert [row[0] for row in rows_of(*added_tables(summary))] == ["container"]
    (row,) = rows_of(*added_tables(summary, emulated=True))
    assert (row[0], row[2], row[-1]) == ("qemu-virtio", "+100", "uml")
    titles = [section.title for section in cell_table(summary, "responses").sections]
    assert titles == [
        "TCP inter-host, answers of equal length",
        "TCP inter-host, answers of equal length: emulated CPU",
    ]


def test_published_times_stand_apart_as_other_hardware(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", both(40, 50), scenario=PAPER))
    printed = cell_table(summary, "responses")
    assert [text_of(cell) for cell in printed.sections[-1].rows[0]][:3] == [
        "VMware ESXi 6.0",
        "small",
        "less than 500",
    ]
    assert "published (III.B, Fig. 2): Dell OptiPlex 9010" in printed.sections[-1].title
    assert "no ratio" in printed.note
    assert rows_of(*added_tables(summary))[-1] == ["VMware ESXi 6.0", "not said", "140", "", "", ""]
    shown = write_report(summary).read_text()
    assert "Number(text=" not in shown
    inside = [MadeResponses(0, 40, platform="container", placement="intra-host")]
    published = summarise(make(tmp_path / "i", inside, scenario=PAPER)).published
    (only,) = published["responses"]
    assert (only["placement"], only["value_ms"]) == ("intra-host", "0.1")
    assert not any(summarise(make(tmp_path / "own", both(40, 50))).published.values())


def test_the_figure_has_a_line_a_platform_with_deviations_for_bars(tmp_path: Path) -> None:
    trials = [*both(40, 80), *both(500, 600, message_bytes=65536)]
    drawn = draw_figures(summarise(make(tmp_path / "r", trials)))
    (panel,) = next(figure for figure in drawn if figure.name == "response-time-by-message").panels
    assert panel.plot.layout.xaxis.type == "log"
    raw, container = panel.plot.data
    assert (list(raw.x), list(raw.y)) == ([64, 65536], [60, 550])
    assert list(container.error_y.array) == pytest.approx([28.28, 70.71], rel=1e-3)
    assert "standard deviation 28.3" in container.text[0]


def test_what_nobody_answered_has_no_time(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [MadeResponses(block, None) for block in range(2)]))
    assert rows_of(cell_table(summary, "responses")) == [["raw", "64", "–", "–", "100.00", "2", "0%"]]
    assert summary.sentences[0].text == (
        "answers no 64-byte requests, with TCP inter-host, answers of equal length; no trial left out."
    )


def test_every_view_shows_responses_and_nothing_of_frames(tmp_path: Path) -> None:
    trials = [*both(40, 80), *both(500, 600, message_bytes=65536)]
    broken = [MadeResponses(block, 1, platform="lxc", verdict="invalid") for block in range(2)]
    summary = summarise(make(tmp_path / "r", [*trials, *broken], scenario=PAPER))
    first = as_json(summary)["cells"][0]
    assert (first["level"], first["metrics"]["latency_mean_ns"]["value"]) == ({"message_bytes": 64}, 60_000)
    told = {sentence.platform: sentence.text for sentence in summary.sentences}
    assert told["container"].startswith("answers 64-byte requests in 80.0 µs")
    assert "20.0 µs more than raw" in told["container"]
    assert [cell.name for cell in summary.cell_verdicts if not cell.usable] == [
        "lxc, TCP inter-host, answers of equal length, 64-byte requests"
    ]
    assert rows_of(cell_table(summary, "response-quantiles"))[0][2] == "60.0"
    assert rows_of(cell_table(summary, "response-cpu"))[0][2:5] == ["500", "40.0", "2.0"]
    page = write_report(summary).read_text()
    for title in ("Response times", "Response time added", "Response time by request length"):
        assert title in page
    assert "nothing to show" not in page
    assert summary.loads.throughput == []
