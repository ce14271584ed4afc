"""Traced trials as the views show them: stages, packets and guests, beside what the paper prints."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.traced import STAGES, MadeTrace
from vtax.model.metrics import RESPONSE_TIME
from vtax.model.table import text_of
from vtax.views import as_json, write_report
from vtax.views.cell_tables import cell_table
from vtax.views.figures import draw_figures
from vtax.views.stage_tables import packets_table, stages_table, tracing_table
from vtax.views.summary import summarise

PAPER = {"source": {"paper": "oljira2016", "section": "III.C"}}


def rows_of(table: Any) -> list[list[str]]:
    return [[text_of(cell) for cell in row] for section in table.sections for row in section.rows]


def test_stages_of_a_way_add_up_and_are_shown_in_its_order(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [MadeTrace(0, 10), MadeTrace(1, 20)]))
    assert [row[0] for row in rows_of(stages_table(summary))] == [
        "rx driver",
        "rx switch",
        "rx backend",
        "rx total",
        "through unattributed",
    ]
    *stages, total, unattributed = summary.tracing.stages
    assert sum(row.mean_ns.value for row in stages) == total.mean_ns.value == 20_000
    assert (total.mean_ns.n, total.packets) == (2, 200)
    assert (unattributed.mean_ns.value, unattributed.p50_ns, unattributed.curve) == (9000, None, ())
    assert stages[0].p50_ns is not None
    assert stages[0].p50_ns.value == pytest.approx(1000, rel=0.02)
    assert stages[0].curve[-1][1] == 1.0
    assert stages[0].beyond(1000.0) == pytest.approx(0.5, abs=0.05)


def test_a_traced_trial_feeds_no_view_of_throughput_or_response_time(tmp_path: Path) -> None:
    both = [MadeTrace(block, 10, trace=trace) for block in range(2) for trace in ("none", "stages")]
    result = make(tmp_path / "r", both)
    (cell,) = summarise(result).measured
    assert (cell.recorded, cell.estimate(RESPONSE_TIME) is not None) == (2, True)
    assert result.query("SELECT DISTINCT trace FROM cells").to_pylist() == [{"trace": "none"}]
    only = summarise(make(tmp_path / "only", [MadeTrace(0, 10)]))
    assert only.measured == only.loads.throughput == []
    assert rows_of(cell_table(only, "responses")) == []
    assert only.has_usable


def test_a_packet_that_is_typical_stands_beside_the_papers(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [MadeTrace(0, 10)], scenario=PAPER))
    table = packets_table(summary)
    assert rows_of(table)[:3] == [
        ["arrive", "in0", "0.00", "", ""],
        ["receive", "in0", "1.00", "1.00", "rx driver"],
        ["queue", "in0", "4.00", "3.00", "rx switch"],
    ]
    titles = [section.title for section in table.sections]
    assert titles[1:] == [
        "published: VMware ESXi 6.0, tx (Table I)",
        "published: VMware ESXi 6.0, rx (Table I)",
    ]
    printed = {row.function: row for row in summary.tracing.published_packets if row.direction == "tx"}
    assert (printed["PktFree"].since_ns, printed["PktFree"].took_ns) == (560_000, 520_000)
    # The stages of Table II leave a gap on the way to a guest.
    assert [row.function for row in summary.tracing.published_packets if row.stage == "unattributed"] == [
        "VnicRx"
    ]


def test_what_following_took_is_told(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [MadeTrace(0, 10), MadeTrace(1, 10, verdict="invalid")]))
    assert rows_of(tracing_table(summary)) == [["container", "100", "3", "1", "80", "–", "2", "50%"]]
    (caveat,) = [each for each in summary.caveats if each.subject.startswith("Packets were followed")]
    assert "about 80 ns a packet at each hook" in caveat.text
    assert "The trace lost 1 packets" in caveat.text


def test_what_following_adds_is_told_against_trials_without_it(tmp_path: Path) -> None:
    medians = {"none": (50, 60, 70), "stages": (59, 70, 81)}
    trials = [
        MadeTrace(block, 10, trace=trace, median_us=median)
        for trace, blocks in medians.items()
        for block, median in enumerate(blocks)
    ]
    summary = summarise(make(tmp_path / "r", trials))
    ((*_, added, _, _),) = rows_of(tracing_table(summary))
    assert added == "+10.0"
    (caveat,) = [each for each in summary.caveats if each.subject.startswith("Packets were followed")]
    assert "It added at most +10.0 [+6.97, +13.0] µs to a median" in caveat.text


def test_what_following_adds_is_not_told_against_another_setting(tmp_path: Path) -> None:
    other = [MadeTrace(block, 10, trace="none", guests=2) for block in range(2)]
    summary = summarise(make(tmp_path / "r", [*other, MadeTrace(0, 10), MadeTrace(1, 10)]))
    assert [cell.added_ns for cell in summary.tracing.traced] == [None]


def test_figures_have_a_line_a_stage_and_a_line_a_number_of_guests(tmp_path: Path) -> None:
    trials = [MadeTrace(block, 10 * guests, guests=guests) for block in range(2) for guests in (1, 2, 4)]
    drawn = {figure.name: figure for figure in draw_figures(summarise(make(tmp_path / "r", trials)))}
    distributions = drawn["stage-distributions"]
    assert [len(panel.plot.data) for panel in distributions.panels] == [4, 4, 4]
    assert [key.label for key in distributions.keys] == [*STAGES, "total"]
    by_guests = drawn["stages-by-guests"]
    assert [panel.title for panel in by_guests.panels] == [
        "container, host under test, rx switch",
        "container, host under test, rx total",
    ]
    switch = by_guests.panels[0].plot
    assert [line.name for line in switch.data] == ["1 guest", "2 guests", "4 guests"]
    assert all(line.y[-1] == 0.0 for line in switch.data)
    assert switch.layout.xaxis.type == "log"


def test_a_sentence_says_where_most_of_the_time_is_spent(tmp_path: Path) -> None:
    trials = [
        MadeTrace(block, 15, platform=platform) for block in range(2) for platform in ("container", "uml")
    ]
    summary = summarise(make(tmp_path / "r", trials))
    told = {sentence.platform: sentence.text for sentence in summary.sentences}
    assert told["container"].startswith(
        "delays packets to a guest by 20.0 µs (95% interval 20.0 to 20.0, n = 2), "
    )
    assert "75% of it in the stage switch" in told["container"]


def test_every_view_shows_stages(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [MadeTrace(block, 10) for block in range(2)], scenario=PAPER))
    assert as_json(summary)["stages"][0]["mean_ns"]["value"] == 1000
    page = write_report(summary).read_text()
    for title in ("Delay by stage", "Path of one packet", "Delay by number of guests", "Packets followed"):
        assert title in page
    assert "Number(text=" not in page
    assert "more than 200 µs for over 70% of the packets" in page
    assert "nothing to show" not in page
