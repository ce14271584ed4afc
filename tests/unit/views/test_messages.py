"""Goodput over the length of messages as the views show it, beside the bare hosts' and what the paper says."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.helpers.results.builder import make
from tests.helpers.results.bulk import MadeBulk, bulk_blocks
from vtax import views
from vtax.model.published import DATA
from vtax.model.table import Table, text_of
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.views.figures import draw_figures
from vtax.views.message_tables import GOODPUT, RATIO, message_sockets_table, messages_table
from vtax.views.summary import Summary, summarise

PAPER = {"source": {"paper": "oljira2016", "section": "III.B"}}
TESTBED = {"link_mbps": 1000.0, "flow_control": True, "mtu": 1500, "uplink": "dedicated", "guests": 1}
LINK_MBPS = 1000 * 1448 / 1538


def stream(goodputs: Sequence[float], message_bytes: int | None = 64, **fixed: Any) -> list[MadeBulk]:
    """One trial a block between two ends."""
    return bulk_blocks(
        [(goodput,) for goodput in goodputs],
        **{"message_bytes": message_bytes, "placement": "inter-host", **fixed},
    )


def campaign() -> list[MadeBulk]:
    """Raw and container with two lengths, the kernels' buffers and larger ones; UML over SCTP as well."""
    return [
        *(
            trial
            for buffer_bytes in (None, 4 << 20)
            for platform, share in (("raw", 1.0), ("container", 0.5))
            for message_bytes, mbps in ((64, 400.0), (65536, 940.0))
            for trial in stream(
                [share * mbps, share * (mbps + 2)],
                message_bytes,
                platform=platform,
                buffer_bytes=buffer_bytes,
                retransmissions=7,
            )
        ),
        *stream([90.0, 90.0], platform="uml", transport="sctp", emulated=True),
        *stream([45.0, 45.0], platform="qemu-virtio", transport="sctp", emulated=True),
    ]


def made(directory: Path, trials: Sequence[MadeBulk], **scenario: Any) -> Result:
    figures = ["goodput-by-message"]
    return make(directory, trials, scenario={"testbed": TESTBED, "figures": figures, **scenario})


def rows_of(table: Table) -> list[list[str]]:
    return [[text_of(cell) for cell in row] for section in table.sections for row in section.rows]


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return summarise(made(tmp_path_factory.mktemp("messages") / "r", campaign(), **PAPER))


def test_a_mean_has_its_interval_and_the_repetitions_their_deviation(tmp_path: Path) -> None:
    trials = [*stream([400.0, 404.0]), *stream([1.0], verdict="invalid")]
    (row,) = summarise(made(tmp_path / "r", trials)).streams.messages
    assert (row.goodput_mbps.value, row.goodput_mbps.n, row.message_bytes) == (402, 2, 64)
    assert row.goodput_mbps.left_out == pytest.approx(1 / 3)
    assert row.deviation_mbps == pytest.approx(4 / math.sqrt(2))
    assert row.of_link is not None
    assert row.of_link.value == pytest.approx(402 / LINK_MBPS)
    assert (row.setting.label, row.reference, row.ratio) == ("sending TCP inter-host", None, None)


def test_a_ratio_is_to_the_same_length_and_buffers_of_raw_or_of_the_first_emulated_platform(
    summary: Summary,
) -> None:
    found = {
        (row.platform, row.setting.label, row.message_bytes): (row.reference, row.ratio.value, row.ratio.n)
        for row in summary.streams.messages
        if row.ratio is not None
    }
    buffers = ("", ", 4194304-byte buffers")
    assert found == {
        **{
            ("container", f"sending TCP inter-host{buffer}", length): ("raw", pytest.approx(0.5), 2)
            for buffer in buffers
            for length in (64, 65536)
        },
        ("qemu-virtio", "sending SCTP inter-host", 64): ("uml", pytest.approx(0.5), 2),
    }


def test_settings_come_by_transport_and_the_kernels_buffers_first(summary: Summary) -> None:
    titles = [section.title for section in messages_table(summary).sections]
    assert titles[:3] == [
        "sending TCP inter-host",
        "sending TCP inter-host, 4194304-byte buffers",
        "sending SCTP inter-host: emulated CPU",
    ]
    first = rows_of(messages_table(summary))[0]
    assert first == ["raw", "64", "401.0", "1.4", "42.59", "–", "2", "0%"]


def test_buffers_in_force_stand_there_with_what_was_sent_again(summary: Summary) -> None:
    rows = rows_of(message_sockets_table(summary))
    assert rows[0] == ["raw", "64", "16,384", "131,072", "7.0", "60.0", "2", "0%"]
    assert ["container", "64", "8,388,608", "8,388,608", "7.0", "60.0", "2", "0%"] in rows
    assert rows[-1][4] == "–"


def test_what_is_published_stands_apart_as_other_hardware(summary: Summary, tmp_path: Path) -> None:
    table = messages_table(summary)
    published = {section.title: section.rows for section in table.sections if "published" in section.title}
    (line_rate,) = published[
        "TCP inter-host, default buffers, published (III.B, Fig. 5): "
        "Dell OptiPlex 9010, Intel Core i7-3770, 1 GbE"
    ]
    assert [text_of(cell) for cell in line_rate][:3] == ["VMware ESXi 6.0", "all", "line rate"]
    assert "no ratio is formed" in table.note
    own = summarise(made(tmp_path / "own", stream([400.0])))
    assert own.streams.published_goodput == []
    inside = summarise(made(tmp_path / "inside", stream([400.0], placement="intra-host"), **PAPER))
    assert inside.streams.published_goodput == []


def test_every_saying_has_a_place_and_a_source() -> None:
    with (DATA / "oljira2016" / "throughput.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["quantity"] for row in rows} == {GOODPUT, RATIO}
    assert all(row["section"] and row["source"] and row["hardware"] for row in rows)


def test_the_figure_has_a_line_a_platform_below_that_of_the_link(summary: Summary) -> None:
    (drawn,) = [figure for figure in draw_figures(summary) if figure.name == "goodput-by-message"]
    assert [panel.title for panel in drawn.panels] == [
        "sending TCP inter-host",
        "sending TCP inter-host, 4194304-byte buffers",
        "sending SCTP inter-host: emulated CPU",
    ]
    plot = drawn.panels[0].plot
    assert plot.layout.xaxis.type == "log"
    link, raw, container = plot.data
    assert list(link.y) == pytest.approx([LINK_MBPS] * 2)
    assert (list(raw.x), list(raw.y)) == ([64, 65536], [401, 941])
    assert list(container.error_y.array) == pytest.approx([math.sqrt(0.5)] * 2)
    sctp = drawn.panels[2].plot
    assert (list(sctp.data[0].x), sctp.data[1].line.dash) == ([], "dash")


def test_a_length_that_was_left_to_the_transport_is_in_tables_only(tmp_path: Path) -> None:
    summary = summarise(made(tmp_path / "r", stream([900.0, 901.0], None)))
    assert rows_of(messages_table(summary))[0][:2] == ["raw", "default"]
    assert [figure for figure in draw_figures(summary) if figure.panels] == []
    assert summary.sentences[0].text.startswith("carries messages at 900.5 Mbit/s (95% interval")


def test_a_sentence_speaks_of_the_shortest_and_the_longest(summary: Summary) -> None:
    told = {sentence.platform: sentence for sentence in summary.sentences}
    assert told["container"].text.startswith("carries 64-byte messages at 200.5 Mbit/s (95% interval")
    assert (
        "0.500 times raw's (95% interval 0.500 to 0.501, n = 2), 65536-byte messages"
        in told["container"].text
    )
    assert told["container"].text.endswith("sending TCP inter-host; no trial left out.")
    assert told["uml"].group == "emulated"


def test_every_view_shows_the_streams_and_nothing_of_guests_that_share(
    summary: Summary, tmp_path: Path
) -> None:
    result = made(tmp_path / "r", campaign(), **PAPER)
    page = io.StringIO()
    views.show(result, Console(file=page, width=100))
    text = page.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    for title in ("Goodput by message", "Buffers, retransmissions and CPU by message"):
        assert text.count(f"\n{title}\n") == 1
    for absent in ("Goodput by guests", "Efficiency", "No usable trial", "None", "nan"):
        assert absent not in text, absent
    report = views.write_report(result).read_text(encoding="utf-8").split("<script>")[0]
    assert 'id="figure-goodput-by-message"' in report
    assert 'id="sharing"' not in report
    assert "Number(" not in report
    assert views.as_json(result)["messages"][0]["goodput_mbps"]["value"] == 401
    assert summary.streams.sharing.goodput == []
    caveats = {caveat.subject: caveat.text for caveat in summary.caveats}
    assert "2 cells with a full link" in caveats
    assert "No reference" not in caveats


def test_precision_is_of_the_streams_too(tmp_path: Path) -> None:
    precision = {"relative_width": 0.5, "of": "throughput", "least": 3, "budget_s": None}
    trials = stream([900.0, 901.0, 899.0, 900.5, 899.5])
    summary = summarise(made(tmp_path / "r", trials, precision=precision, repetitions=9))
    assert [row.reached for row in summary.precision] == [True]


def test_the_scenarios_figure_is_there() -> None:
    load_scenario("oljira2016/throughput").check_figures(views.figure_names())
