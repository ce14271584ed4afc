"""What people and programs get of a campaign of bulk streams: terminal, JSON, report, figures, sentences, caveats."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.helpers.results.builder import make
from tests.helpers.results.bulk import MadeBulk, bulk_blocks, bulk_campaign
from tests.helpers.results.forwarding import blocks
from vtax import views
from vtax.model.bound import Bound
from vtax.model.published import DATA
from vtax.model.table import Number
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.statistics import PER_MILLE, adaptive_interval
from vtax.views.figures import draw_figures
from vtax.views.palette import styles
from vtax.views.published_table import FORMS
from vtax.views.sharing_tables import goodput_table
from vtax.views.summary import summarise

PAPER = {"source": {"paper": "anhalt2009", "section": "IV.B.1"}}


@pytest.fixture(scope="module")
def bulk(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return make(tmp_path_factory.mktemp("sharing") / "bulk", bulk_campaign(), scenario=PAPER)


def shown(result: Result, width: int = 100) -> str:
    page = io.StringIO()
    views.show(result, Console(file=page, width=width))
    return page.getvalue()


def test_the_terminal_shows_what_there_is_and_nothing_of_frames(bulk: Result) -> None:
    text = shown(bulk)
    for title in ("Goodput by guests", "Efficiency", "Change with the number of guests", "CPU by guests"):
        assert text.count(f"\n{title}\n") == 1
    assert "sending TCP\n" in text
    assert "sending TCP: emulated CPU\n" in text
    assert "sending UDP\n" in text
    for word in ("frames", "flood", "None", "nan", "offered", "Throughput by load", "maximum"):
        assert word not in text, word
    assert max(map(len, text.splitlines())) <= 100


def test_a_number_stands_there_with_its_interval_and_n(bulk: Result) -> None:
    text = shown(bulk, 140)
    (line,) = re.findall(r"^container +2 +(817\.5.*)$", text.split("\nEfficiency\n")[0], re.M)[:1]
    assert re.match(r"817\.5 ±12\.0 +86\.83 ±1\.27 +408\.8 ±6\.0 +1\.000 \[0\.999, 1\.000\] +3 +0%", line)


def test_emulated_platforms_have_groups_of_their_own(bulk: Result) -> None:
    page = views.write_report(bulk).read_text(encoding="utf-8")
    sections = re.findall(r'<tr class="heading"><th[^>]*>(.*?)</th>(.*?)</tbody>', page, re.S)
    assert {title for title, _ in sections if "emulated" in title} >= {"sending TCP: emulated CPU"}
    for title, body in sections:
        assert ("uml</" in body) == ("emulated CPU" in title)
    published = page.split('id="table-published">')[1].split("</section>")[0]
    assert "uml" not in published
    efficiency = page.split('id="table-efficiency">')[1].split("</table>")[0]
    assert "raw, 1 guest" not in efficiency.split("sending TCP: emulated CPU")[1]


def test_the_report_has_figures_and_tables_of_what_there_is(bulk: Result) -> None:
    page = views.write_report(bulk).read_text(encoding="utf-8")
    assert re.findall(r'<figure id="figure-(.*?)" ', page) == ["goodput-by-guests", "cpu-by-guests"]
    tables = re.findall(r'<section class="table" id="table-(.*?)">', page)
    assert tables == ["efficiency", "guest-cpu", "guests", "goodput", "scaling", "published", "verdicts"]
    assert "No usable trial" not in page
    assert "layer-1 rate × payload" in page


def test_the_document_holds_every_metric(bulk: Result) -> None:
    document = json.loads(json.dumps(views.as_json(bulk), allow_nan=False))
    sharing = document["sharing"]
    assert {name: len(rows) for name, rows in sharing.items()} == {
        "goodput": 12,
        "efficiency": 8,
        "scaling": 6,
        "fairness": 6,
        "cpu": 12,
        "round_trips": 6,
        "published": 4,
    }
    assert sharing["goodput"][0]["setting"]["transport"] == "tcp"
    assert sharing["cpu"][1]["by_account"]["guest 1"]["value"] == 21
    assert document["throughput"] == document["maxima"] == document["percentiles"] == []


def test_a_sentence_a_platform(bulk: Result) -> None:
    raw, container, uml = summarise(bulk).sentences
    assert raw.group == "reference"
    assert raw.text.startswith(
        "with 2 guests sends 908.0 Mbit/s of TCP goodput (95% interval 894.7 to 921.3, n = 3)"
    )
    assert "times its own with one guest" in raw.text
    assert container.group == "native"
    assert re.search(r"0\.90\d times raw's with one guest \(95% interval .*?, n = 3\)", container.text)
    assert "shared with a fairness of 1.000" in container.text
    assert container.text.endswith(
        "uses 60.0% of a CPU for host and guests (95% interval 59.0 to 61.0, n = 3); no trial left out."
    )
    assert uml.group == "emulated"
    assert "raw" not in uml.text


def test_lines_are_at_the_links_share(bulk: Result) -> None:
    goodput, *_ = draw_figures(summarise(bulk))
    by_title = {panel.title: panel.plot for panel in goodput.panels}
    assert list(by_title) == [
        f"sending {transport}{group}, {part}"
        for transport, group in (
            ("TCP", ""),
            ("UDP", ""),
            ("TCP", ": emulated CPU"),
            ("UDP", ": emulated CPU"),
        )
        for part in ("aggregate", "each guest")
    ]
    heights = [shape.y0 for shape in by_title["sending TCP, each guest"].layout.shapes]
    assert heights == pytest.approx([1000 * 1448 / 1538, 500 * 1448 / 1538])
    assert [shape.y0 for shape in by_title["sending UDP, aggregate"].layout.shapes] == pytest.approx(
        [1000 * 1472 / 1538] * 2
    )


def test_platforms_keep_their_colour_and_the_emulated_their_hatching(bulk: Result) -> None:
    summary = summarise(bulk)
    goodput, cpu, *_ = draw_figures(summary)
    style = styles(summary.platforms)
    bars = {trace.name: trace for panel in goodput.panels for trace in panel.plot.data if trace.type == "bar"}
    assert {name: trace.marker.line.color for name, trace in bars.items()} == {
        name: style[name].color for name in ("raw", "container", "uml")
    }
    assert bars["uml"].marker.pattern.shape == "/"
    hatched = {panel.title for panel in cpu.panels if panel.plot.data[0].marker.pattern.shape == "/"}
    assert hatched == {"sending TCP: emulated CPU, uml", "sending UDP: emulated CPU, uml"}


def test_stacked_cpu_times_add_up_to_all_but_idle(bulk: Result) -> None:
    _, cpu, *_ = draw_figures(summarise(bulk))
    plot = next(panel.plot for panel in cpu.panels if panel.title == "sending TCP, container")
    layers = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in plot.data}
    whole = layers.pop("all")
    assert list(layers) == ["guest 0", "guest 1", "host", "instrument: far ends", "instrument: switch"]
    for guests in ("1", "2"):
        assert sum(layer.get(guests, 0) for layer in layers.values()) == pytest.approx(whole[guests])


def test_published_numbers_stand_beside_the_measured(bulk: Result) -> None:
    page = views.write_report(bulk).read_text(encoding="utf-8")
    published = page.split('id="table-published">')[1].split("</section>")[0]
    rows = re.findall(r'<th scope="row".*?</tr>', published, re.S)
    texts = [" ".join(re.sub("<.*?>", " ", row).split()) for row in rows]
    assert any(re.match(r"raw 1 905\.0 \[.*\] 3 0% here, sending TCP", text) for text in texts)
    assert any(text.startswith("classical Linux 1 938 other hardware: 2 x AMD Opteron 246") for text in texts)
    assert not any("receiving" in text or "UDP" in text for text in texts)


@pytest.mark.parametrize("paper", [None, "other", "../anhalt2009", ""])
def test_nothing_published_without_its_paper(tmp_path: Path, paper: str | None) -> None:
    source = None if paper is None else {"paper": paper, "section": "1"}
    result = make(tmp_path / "r", [MadeBulk()], scenario={"source": source})
    assert summarise(result).streams.sharing.published == []
    assert "published" not in shown(result)


def test_every_published_number_has_a_form_a_place_and_a_source() -> None:
    files = sorted(DATA.glob("*/text.csv"))
    assert files
    for path in files:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                assert row["quantity"] in FORMS
                assert row["direction"] in ("sending", "receiving", "forwarding")
                assert all(int(number) >= 1 for number in row["guests"].split(" to "))
                assert float(row["value"]) <= float(row["value_high"] or "inf")
                assert row["section"]
                assert row["source"]
                assert row["hardware"]


@pytest.mark.parametrize("name", ["anhalt2009/sending", "anhalt2009/receiving"])
def test_the_scenarios_figures_are_there(name: str) -> None:
    load_scenario(name).check_figures(views.figure_names())


def test_caveats_name_full_links_missing_references_and_dead_guests(tmp_path: Path) -> None:
    trials = [
        MadeBulk((940.0,), platform="container"),
        MadeBulk(
            (200.0, 200.0),
            platform="container",
            reasons=("guest1 died (panic): its losses are a result",),
        ),
        MadeBulk((1.0, 1.0, 1.0), platform="container", verdict="invalid", reasons=("instrument failed: x",)),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    caveats = {caveat.subject: caveat.text for caveat in summary.caveats}
    assert "1 cell with a full link" in caveats
    assert "No reference" in caveats
    assert "2 cells with n=1" in caveats
    assert "A guest died in 1 trial (platform container)" in caveats
    assert caveats["1 cell without a usable trial"].startswith("container, sending TCP, 3 guests. Reasons")
    assert "the flood" not in " ".join(caveats.values())


def test_goodput_of_busy_far_ends_is_a_lower_bound_unless_the_link_is_full(tmp_path: Path) -> None:
    busy = ("far-end-busy",)
    trials = [
        *bulk_blocks([[699.0], [701.0]], marks=busy),
        *bulk_blocks([[470.0] * 2, [471.0] * 2], marks=busy),
        *bulk_blocks([[200.0] * 3, [200.0] * 3]),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    assert [row.aggregate_mbps.bound for row in summary.streams.sharing.goodput] == [
        Bound.AT_LEAST,
        Bound.EXACT,
        Bound.EXACT,
    ]
    told = [row[2].text for row in goodput_table(summary).sections[0].rows if isinstance(row[2], Number)]
    assert [text[0] for text in told] == ["≥", "9", "6"]
    caveats = [caveat.subject for caveat in summary.caveats]
    assert "1 cell with busy far ends" in caveats


def test_an_adaptive_campaign_says_how_narrow_its_aggregates_became(tmp_path: Path) -> None:
    rates = [900.0, 901.0, 899.0, 900.5, 899.5]
    trials = [*bulk_blocks([[rate] for rate in rates]), *bulk_blocks([[rate / 3] * 2 for rate in rates])]
    precision = {"relative_width": 0.05, "of": "throughput", "least": 3, "budget_s": None}
    result = make(tmp_path / "r", trials, scenario={"precision": precision, "repetitions": 9})
    summary = summarise(result)
    expected = PER_MILLE.of_mean(adaptive_interval(rates))
    aggregate = summary.streams.sharing.goodput[0].aggregate_mbps
    assert (aggregate.low, aggregate.high) == (expected.low, expected.high)
    ratio = summary.streams.sharing.efficiency[0].efficiency
    assert ratio is not None
    assert (ratio.value, ratio.n) == pytest.approx((2 / 3, 5))
    assert [(row.level, row.reached) for row in summary.precision] == [("1", True), ("2", True)]
    assert re.search(r"^raw +2 +600\.0 .* reached$", shown(result).split("\nPrecision\n")[1], re.M)


def test_half_a_campaign_is_shown_with_what_there_is(tmp_path: Path) -> None:
    trials = [MadeBulk(), MadeBulk((400.0, 300.0), platform="uml", emulated=True, host_percent=None)]
    result = make(tmp_path / "r", trials, status="running")
    text = " ".join(shown(result).split())
    assert "n=1" in text
    assert "1 cell without an efficiency: uml has no usable trial with one guest." in text
    assert "\nEfficiency\n" not in shown(result)
    views.write_report(result)
    json.dumps(views.as_json(result), allow_nan=False)


@pytest.mark.parametrize("verdict", ["invalid", None])
def test_a_campaign_without_a_usable_trial_is_shown_as_such(tmp_path: Path, verdict: str | None) -> None:
    trials = [MadeBulk(verdict=verdict, reasons=("instrument failed: x",))] if verdict else []
    result = make(tmp_path / "r", trials, kind=MadeBulk, status="cut short")
    assert "No usable trial is recorded yet" in shown(result)
    page = views.write_report(result).read_text(encoding="utf-8")
    assert "No usable trial is recorded yet" in page
    assert "<figure" not in page


def test_names_from_a_result_are_escaped(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    trials = [MadeBulk((9.0, 9.0), platform=hostile, guest_percent=(1.0, 1.0), further=(("vcpus", hostile),))]
    page = views.write_report(make(tmp_path / "r", trials)).read_text(encoding="utf-8")
    assert "<img" not in page.split("<script>")[0]
    assert page.count("</script>") == 4


def test_forwarding_shows_nothing_of_guests(tmp_path: Path) -> None:
    result = make(
        tmp_path / "r", blocks([90, 80]), scenario={"figures": ["goodput-by-guests", "cpu-by-guests"]}
    )
    assert summarise(result).streams.sharing.goodput == []
    page = views.write_report(result).read_text(encoding="utf-8")
    assert 'id="sharing"' not in page
    assert 'id="figure-goodput-by-guests"' not in page
    assert "guests" not in shown(result)
