"""What people and programs get: terminal, JSON, report, figures; whole, half-done and hostile results."""

import io
import json
import re
from pathlib import Path
from typing import Any

import plotly.graph_objects
import pytest
from rich.console import Console

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks, held
from tests.helpers.results.synthetic import make_result
from vtax import views
from vtax.inputs import InputError
from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.results import Result
from vtax.views.export.openmetrics import openmetrics
from vtax.views.figures import draw_figures
from vtax.views.palette import styles
from vtax.views.summary import summarise

HELD = ("backpressured",)
HOSTILE = "</script><img src=x onerror=alert(1)>[red]{{7*7}}"


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Result:
    directory = tmp_path_factory.mktemp("views") / "synthetic"
    make_result(directory, frame_bytes=(64, 1500), loads=(100.0, 1000.0, None))
    return Result.open(directory)


def shown(result: Result, width: int = 100) -> str:
    buffer = io.StringIO()
    views.show(result, Console(file=buffer, width=width))
    return buffer.getvalue()


def visible(page: str) -> str:
    """The report without its scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_machines_of_a_testbed_are_told_where_they_are_several(tmp_path: Path) -> None:
    machine = {"cpu_model": "Some CPU", "cpus": 4, "kernel": "6.1"}
    hosts = {"uut": {**machine, "roles": "uut"}, "gen": {**machine, "roles": "source, sink"}}
    several = make(tmp_path / "several", [Made()], hosts=hosts)
    assert re.search(r"gen +source, sink +Some CPU +4 +6\.1", shown(several))
    assert "source, sink" in views.write_report(several).read_text()
    assert "Machines" not in shown(make(tmp_path / "one", [Made()], hosts={"uut": hosts["uut"]}))


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_terminal_is_filled_to_at_most_a_hundred_columns(synthetic: Result, width: int) -> None:
    text = shown(synthetic, width)
    assert max(len(line) for line in text.splitlines()) <= min(width, 100)
    assert "…" not in text


def test_the_terminal_ends_with_a_sentence_a_platform(synthetic: Result) -> None:
    answer = shown(synthetic).split("Cost by platform")[1]
    for platform in (
        "raw carries",
        "container carries",
        "qemu-virtio (emulated CPU)",
        "qemu-e1000 (emulated CPU)",
    ):
        assert platform in answer


def test_a_row_shows_value_interval_n_and_share_left_out(tmp_path: Path) -> None:
    trials = [*blocks([90, 80, 100]), Made(verdict="invalid", reasons=("clock",))]
    text = shown(make(tmp_path / "r", trials))
    (row,) = [
        line for line in text.splitlines() if line.startswith("raw ") and "10.00" in line and "25%" in line
    ][:1]
    assert re.split(r"\s{2,}", row.strip()) == [
        "raw",
        "100",
        "100.0 ±0.1",
        "90.0 ±24.9",
        "10.00 ±24.85",
        "3",
        "25%",
        "overload",
    ]


def test_json_carries_every_estimate_with_interval_n_and_share(synthetic: Result) -> None:
    document = json.loads(json.dumps(views.as_json(synthetic), allow_nan=False))
    assert {
        "provenance",
        "throughput",
        "capacities",
        "maxima",
        "percentiles",
        "changes",
        "costs",
        "sentences",
    } <= set(document)
    first = document["throughput"][0]
    assert set(first["received_mbps"]) == {
        *("value", "low", "high", "n", "left_out", "bound"),
        *("centre", "apart", "points"),
    }
    assert first["setting"] == {"frame_bytes": 64, "streams": 1, "further": {}, "frame_mix": None}


def test_tables_of_forwarding_stand_in_columns_on_a_terminal_of_eighty(tmp_path: Path) -> None:
    """A record a row cannot be compared down a column."""
    trials = [*held([640.1, 655.5]), *held([340.5, 330.2], platform="container")]
    text = shown(make(tmp_path / "r", trials), 80)
    assert "Throughput within the loss goals" in text
    assert "-[ 1 ]-" not in text


def test_json_says_how_a_change_is_read(tmp_path: Path) -> None:
    limited = ("generator-limited",)
    trials = [
        made
        for bytes_, raw, container in ((64, HELD, HELD), (500, limited, HELD), (1500, limited, limited))
        for made in (
            *held([800, 804], frame_bytes=bytes_, marks=raw),
            *held([400, 404], frame_bytes=bytes_, marks=container, platform="container"),
        )
    ]
    document = json.loads(json.dumps(views.as_json(make(tmp_path / "r", trials)), allow_nan=False))
    changes = [change["change_percent"] for change in document["changes"]]
    assert [(change["bound"], change["low"] is None, change["high"] is None) for change in changes] == [
        ("exact", False, False),
        ("at most", True, False),
        ("withheld", True, True),
    ]
    assert all((change["value"] is None) == (change["bound"] == "withheld") for change in changes)


def test_figures_are_valid_and_a_platform_looks_the_same_everywhere(synthetic: Result) -> None:
    summary = summarise(synthetic)
    style = styles(summary.platforms)
    figures = draw_figures(summary)
    assert [figure.name for figure in figures][:2] == ["throughput-by-load", "maximum-by-streams"]
    for figure in figures:
        assert figure.table.size
        for panel in figure.panels:
            for trace in plotly.graph_objects.Figure(panel.plot).data:
                if trace.name:
                    color = trace.error_y.color if trace.type == "scatter" else trace.marker.line.color
                    assert color == style[trace.name].color
                if trace.name and trace.type == "scatter" and "lines" in trace.mode:
                    assert trace.line.dash == ("dash" if summary.emulated(trace.name) else "solid")


def test_generator_limited_points_are_hollow(tmp_path: Path) -> None:
    trials = [
        *blocks([100, 100]),
        *blocks([900, 900], offered_mbps=900, intended_mbps=None, marks=("generator-limited",)),
    ]
    figure = draw_figures(summarise(make(tmp_path / "r", trials)))[0]
    assert list(figure.panels[0].plot.data[1].marker.symbol) == ["circle", "circle-open"]


def test_link_limited_points_are_filled(tmp_path: Path) -> None:
    trials = blocks([990, 990], offered_mbps=990, intended_mbps=None, marks=("link-limited",))
    summary = summarise(make(tmp_path / "r", trials))
    figure = draw_figures(summary)[0]
    assert list(figure.panels[0].plot.data[1].marker.symbol) == ["circle"]
    (caveat,) = [each for each in summary.caveats if "link's rate" in each.subject]
    assert caveat.subject == "1 cell at the link's rate"


def test_points_are_hollow_only_where_they_are_bounds(tmp_path: Path) -> None:
    """A flood that lost frames is exact, whatever set its load; so is what was carried at a stated one."""
    trials = [
        *blocks([850, 850], offered_mbps=850, intended_mbps=950, marks=("generator-limited",)),
        *blocks([900, 900], offered_mbps=900, intended_mbps=None, marks=("generator-limited",)),
        *blocks(
            [400, 400],
            platform="container",
            offered_mbps=990,
            intended_mbps=None,
            marks=("generator-limited",),
        ),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    by_load, maximum = draw_figures(summary)[:2]
    _, raw, container = by_load.panels[0].plot.data
    assert list(raw.marker.symbol) == ["circle", "circle-open"]
    assert [raw.error_y.array[1], container.marker.symbol[0].endswith("-open")] == [0, False]
    bars = maximum.panels[0].plot.data
    assert ["0)" in bar.marker.color[0] for bar in bars] == [True, False]
    (caveat,) = [each for each in summary.caveats if "generator's ceiling" in each.subject]
    assert caveat.subject == "3 cells at the generator's ceiling"


def test_the_legend_names_the_loss_that_a_carried_load_may_have(synthetic: Result) -> None:
    assert "≥: a lower bound; a trial lost at most 0.5%" in " ".join(shown(synthetic).split())


def test_a_quantile_among_lost_probes_is_a_dash_with_its_reason(tmp_path: Path) -> None:
    text = shown(make(tmp_path / "r", [Made(block=block, probes_lost=400) for block in range(3)]))
    (row,) = [line for line in text.splitlines() if line.startswith("raw ") and "– lost" in line]
    assert re.split(r"\s{2,}", row.strip())[2:5] == ["5.01 [5.00, 5.02]", "– lost", "– lost"]
    assert "– lost: too many probes were lost for this quantile." in " ".join(text.split())


FAR_APART = [Made(block=0, delay_ns=5_000), Made(block=1, delay_ns=400_000)]
"""Two repetitions whose delays differ so much that the interval of their logarithms says nothing."""


def test_an_upper_bound_beyond_use_is_shown_as_none(tmp_path: Path) -> None:
    result = make(tmp_path / "r", FAR_APART)
    found = views.as_json(result)["percentiles"][0]["delay_ns"]
    assert found["high"] > 1e9 * found["value"]
    text = " ".join(shown(result).split())
    assert " 44.7 [0.00, ∞) " in text
    assert "(95% interval 0.00 to ∞, n = 2)" in text
    page = views.write_report(result).read_text()
    assert '<td class="interval">[0.00, ∞)</td>' in visible(page)
    assert f"{found['high'] / 1000:,.0f}" not in page
    bars = [
        trace.error_y
        for figure in draw_figures(summarise(result))
        if figure.name == "delay-percentiles"
        for panel in figure.panels
        for trace in panel.plot.data
    ]
    assert {bar.array[0] for bar in bars} == {bar.arrayminus[0] for bar in bars} == {0.0}


@pytest.mark.parametrize("delays_ns", [(5_000, 8_000), (5_000, 5_000), (5_000, 5_001)])
def test_an_upper_bound_of_use_is_shown(delays_ns: tuple[int, int], tmp_path: Path) -> None:
    trials = [
        Made(block=block, delay_ns=delay_ns, marks=("backpressured",))
        for block, delay_ns in enumerate(delays_ns)
    ]
    assert "∞)" not in shown(make(tmp_path / "r", trials))


def test_a_difference_of_nearly_nothing_keeps_both_bounds() -> None:
    assert numbers.bracket(Estimate(0.001, -5, 5.002, 2, 0.0), numbers.mbps) == "[−5.0, 5.0]"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_narrow_terminal_breaks_no_number_name_or_head(width: int, tmp_path: Path) -> None:
    delays_ns = enumerate((123_456_000, 181_112_000, 155_000_000))
    trials = [Made(platform="qemu-rtl8139", block=block, delay_ns=delay_ns) for block, delay_ns in delays_ns]
    result = make(tmp_path / "r", trials)

    def words(width: int) -> set[str]:
        text = shown(result, width)
        table = text[text.index("platform  ", text.index("One-way delay")) :].partition("\n\n")[0]
        return set(table.split())

    unbroken = {word for word in words(200) if word != "]" and any(map(str.isalnum, word))}
    assert {"151,365", "qemu-rtl8139", "0%"} <= unbroken
    assert unbroken <= words(width)


def test_openmetrics_have_no_quantile_that_a_repetition_may_have_lost(tmp_path: Path) -> None:
    """What a late source withheld is no loss."""
    lost = [Made("raw", block, delay_ns=9_000 if block else None) for block in range(3)]
    late = [Made("container", block, delay_ns=9_000, lateness_ns=0 if block else 8_000) for block in range(3)]
    lines = "".join(openmetrics(make(tmp_path / "r", [*lost, *late]))).splitlines()
    with_median = [line for line in lines if line.startswith("vtax_latency_p50_seconds{")]
    assert {platform for platform in ("raw", "container") for line in with_median if platform in line} == {
        "container"
    }
    assert {platform for platform in ("raw", "container") for line in lines if platform in line} == {
        "raw",
        "container",
    }


@pytest.mark.parametrize("made", [{"delay_ns": None}, {"probes_lost": 5_000}])
def test_a_result_without_delays_is_shown_without_them(tmp_path: Path, made: dict[str, Any]) -> None:
    result = make(
        tmp_path / "r", [*blocks([90, 80], **made), *blocks([70, 70], platform="container", **made)]
    )
    assert "one-way delay (" not in shown(result)
    document = json.dumps(views.as_json(result), allow_nan=False)
    assert '"added_delay_p50_ns": null' in document
    assert "one-way delay" in views.write_report(result).read_text(encoding="utf-8")


def test_an_unknown_figure_is_refused_by_name(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [Made()], scenario={"figures": ["throughput-by-lode"]})
    with pytest.raises(InputError, match=r"'throughput-by-lode'.*throughput-by-load"):
        views.write_report(result)
    assert not (result.directory / "report.html").exists()


def test_the_report_replaces_an_older_one_and_leaves_nothing_else(synthetic: Result) -> None:
    (synthetic.directory / "report.html").write_text("old", encoding="utf-8")
    before = set(synthetic.directory.iterdir())
    page = views.write_report(synthetic).read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert set(synthetic.directory.iterdir()) == before


def test_the_report_names_no_other_resource(synthetic: Result) -> None:
    page = visible(views.write_report(synthetic).read_text(encoding="utf-8"))
    assert "http:" not in page
    assert "https:" not in page
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert [link for link in links if not link.startswith("#")] == ["data:,"]
    assert all(f'id="{link[1:]}"' in page for link in links if link.startswith("#"))
    assert "@import" not in page
    assert "url(" not in page


def test_names_from_a_result_are_escaped(tmp_path: Path) -> None:
    trials = [
        *blocks([90, 80], platform=HOSTILE, further=(("cap_mbps", HOSTILE),)),
        Made(HOSTILE, 2, verdict="invalid", reasons=(HOSTILE,), further=(("cap_mbps", HOSTILE),)),
    ]
    scenario = {"title": HOSTILE, "question": HOSTILE}
    result = make(tmp_path / "r", trials, scenario=scenario, command=["vtax", "run", HOSTILE])
    page = views.write_report(result).read_text(encoding="utf-8")
    assert "<img" not in visible(page)
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", page)[0]
    assert page.count("</script>") == 4
    plots = page.split('id="plots">')[1].split("</script>")[0]
    assert "<" not in plots
    names = [trace.get("name", "") for plot in json.loads(plots).values() for trace in plot["data"]]
    assert names
    assert not [name for name in names if "<" in name]
    assert "[red]" in shown(result)


@pytest.mark.parametrize("status", ["cut short", "interrupted", "failed"])
def test_a_campaign_without_trials_is_shown_as_such(tmp_path: Path, status: str) -> None:
    factors = {"platform": ["raw", "container"], "frame_bytes": [64, 1500]}
    described: dict[str, Any] = {"raw": {"kind": "raw"}, "container": {"kind": "container"}}
    scenario = {"factors": factors, "repetitions": 3}
    result = make(tmp_path / "r", [], kind=Made, status=status, platforms=described, scenario=scenario)
    text = shown(result)
    assert "No usable trial is recorded yet" in text
    assert f"Campaign is {status}: 0 of 12 trials are measured" in text
    page = views.write_report(result).read_text(encoding="utf-8")
    assert "No usable trial is recorded yet" in page
    assert "<figure" not in page
    json.dumps(views.as_json(result), allow_nan=False)


def test_half_a_block_is_shown_with_what_there_is(tmp_path: Path) -> None:
    trials = [
        Made("raw"),
        Made("raw", frame_bytes=1500),
        *held([80.0], platform="container", intended_mbps=100.0),
    ]
    result = make(tmp_path / "r", trials, status="running")
    text = " ".join(shown(result).split())
    assert "container carries at least 20.0% fewer 64-byte frames than raw at no more than 0.5% loss" in text
    assert "(n = 1, no interval; raw at the load offered)" in text
    assert "3 cells with n=1" in text
    assert "Campaign is cut short" in views.write_report(result).read_text(encoding="utf-8")
