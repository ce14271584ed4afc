"""Throughput that something other than the platform bounded: decided trial by trial, and never read as a value."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.json_schema import broken
from tests.helpers.results.builder import make
from tests.helpers.results.bulk import bulk_blocks
from tests.helpers.results.forwarding import Made, blocks
from vtax import views
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.model.bound import Bound, Limit, together
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate
from vtax.model.frames import LIMITS, READING, FrameLevels, own_limits
from vtax.model.levels import Setting
from vtax.model.metrics import LOSS, THROUGHPUT
from vtax.model.table import Entry, Table, interval_of, text_of
from vtax.results import Result
from vtax.views.claims.checks import AnyCheck, Ratio
from vtax.views.claims.checks import Bound as BoundCheck
from vtax.views.claims.judge import ClaimVerdict, judge
from vtax.views.claims.readings import read_samples
from vtax.views.claims.table import effect_number
from vtax.views.efficiency import Efficiency
from vtax.views.estimate_document import estimate_document
from vtax.views.figures import draw_figures
from vtax.views.history import read_history
from vtax.views.history.document import history_document
from vtax.views.history.table import level_table
from vtax.views.interference_tables import interference_table
from vtax.views.metrics import read_measured
from vtax.views.provenance import read_provenance
from vtax.views.summary import Summary, summarise
from vtax.views.tables import maximum_table, stream_table, throughput_table
from vtax.views.tax_tables import tax_of_capacity
from vtax.views.throughput import maxima

EXACT, AT_LEAST, AT_MOST, WITHHELD = Bound.EXACT, Bound.AT_LEAST, Bound.AT_MOST, Bound.WITHHELD
GENERATOR, LINK, HELD = ("generator-limited",), ("link-limited",), ("backpressured",)


def flood(rates: Sequence[float], *marks: tuple[str, ...], platform: str = "raw", **fixed: Any) -> list[Made]:
    """A flood that carried all that was offered, a block a rate; each block has its marks, or all have the same."""
    each = marks if len(marks) > 1 else marks * len(rates)
    return [
        Made(platform, block, rate, rate, None, marks=own, **fixed)
        for block, (rate, own) in enumerate(zip(rates, each, strict=True))
    ]


def lossy(rates: Sequence[float], platform: str = "container", **fixed: Any) -> list[Made]:
    """A flood that lost frames, which shows the platform's own limit."""
    fixed = {"intended_mbps": None, "offered_mbps": 990.0, "marks": GENERATOR, **fixed}
    return blocks(rates, platform=platform, **fixed)


def paced(load: float, rates: Sequence[float], platform: str = "raw", **fixed: Any) -> list[Made]:
    fixed = {"offered_mbps": load, "intended_mbps": load, **fixed}
    return blocks(rates, platform=platform, **fixed)


def summary_of(directory: Path, *cells: list[Made], **more: Any) -> Summary:
    return summarise(make(directory / "r", [made for cell in cells for made in cell], **more))


def rows(table: Table) -> list[list[Entry]]:
    return [list(row) for section in table.sections for row in section.rows]


def said(summary: Summary, platform: str) -> str:
    return next(sentence.text for sentence in summary.sentences if sentence.platform == platform)


REVIEWED = flood([460.2, 719.4, 701.7], HELD, GENERATOR, GENERATOR)
"""One trial held back, two in which the generator could do no more: a mean of a value and two lower bounds."""
SLOWER = flood([254.0, 251.0, 259.0], HELD, platform="container")


def test_one_exact_trial_makes_no_mean_of_lower_bounds_exact(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, REVIEWED, SLOWER)
    raw, container = said(summary, "raw"), said(summary, "container")
    assert raw.startswith(
        "carries at least 627.1 Mbit/s (890,767 frames/s) of 64-byte frames with no loss in 30,000 frames, "
        "at the generator's ceiling (95% interval from 2"
    )
    assert container.startswith(
        "carries at least 58.6% fewer 64-byte frames than raw at no more than 0.5% loss (95% interval from "
    )
    assert "n = 3; raw at the generator's ceiling)" in container.split(", and")[0]
    assert " to " not in container.split(")")[0]
    (line,) = rows(tax_of_capacity(summary))
    assert [text_of(cell)[0] for cell in (line[1], line[4], line[5])] == ["≤", "2", "≥"]
    assert interval_of(line[1]).startswith("(−∞, ")
    assert interval_of(line[5]).endswith(", ∞)")
    assert text_of(line[6]) == "at least this cost: raw at the generator's ceiling"
    document = views.as_json(Result.open(tmp_path / "r"))
    bounded, exact = (
        row["received_mbps"] for row in json.loads(json.dumps(document, allow_nan=False))["maxima"]
    )
    assert (bounded["bound"], bounded["low"] is None, bounded["high"]) == ("at least", False, None)
    assert (exact["bound"], exact["low"] is None, exact["high"] is None) == ("exact", False, False)


def cell(
    intended_mbps: float | None,
    received: Sequence[float],
    limits: Sequence[Limit | None],
    offered: Sequence[float] | None = None,
) -> Cell:
    offered = offered or received
    return Cell(
        key="max" if intended_mbps is None else f"{intended_mbps:g}",
        platform="raw",
        setting=Setting(FrameLevels(64, 1, None)),
        level=intended_mbps,
        uut_context="own",
        recorded=len(received),
        invalid=0,
        suspect=0,
        marks={},
        blocks=range(len(received)),
        columns={
            "offered_mbps": offered,
            "received_mbps": received,
            "loss_ratio": [1 - got / sent for got, sent in zip(received, offered, strict=True)],
            "limits": [LIMITS.index(limit) for limit in limits],
        },
        reading=READING,
    )


def test_a_load_carried_in_full_above_the_flood_is_the_maximum(tmp_path: Path) -> None:
    """Some halves of the blocks would pick the flood, which carried less in the mean."""
    summary = summary_of(tmp_path, flood([460, 730, 701], HELD, GENERATOR, GENERATOR), paced(640, [640] * 3))
    (maximum,) = summary.loads.maxima
    assert (maximum.intended_mbps, maximum.bound) == (640, AT_LEAST)
    assert maximum.received_mbps.value == pytest.approx(640)
    assert said(summary, "raw").startswith(
        "carries at least 640.0 Mbit/s (909,091 frames/s) of 64-byte frames with no loss in 30,000 frames, "
        "at the generator's"
    )


LOADS = st.lists(st.floats(10, 900), min_size=1, max_size=3, unique=True)
RATES = st.lists(st.floats(1, 990), min_size=2, max_size=5)


@given(LOADS, RATES, st.lists(st.booleans(), min_size=5, max_size=5), st.booleans())
def test_a_maximum_is_never_below_a_load_carried_in_full(
    loads: list[float], rates: list[float], held: list[bool], overloaded: bool
) -> None:
    """Whatever a flood and an overload beside it carried; and it is exact only where no trial at it is a bound."""
    n = len(rates)
    carried = [
        cell(load, [load * (1 - 0.004 * (block % 2)) for block in range(n)], [Limit.OFFERED] * n, [load] * n)
        for load in loads
    ]
    limits = [None if own else Limit.GENERATOR for own in held[:n]]
    cells = [*carried, cell(None, rates, limits)]
    if overloaded:
        cells.append(cell(995, rates[::-1], [None] * n, [995.0] * n))
    (found,) = maxima(cells)
    most = max(sum(each.values("received_mbps")) / n for each in carried)
    assert found.received_mbps.value >= most * (1 - 1e-9)
    if found.received_mbps.value == pytest.approx(most, rel=1e-12) and found.cell in carried:
        assert found.bound is AT_LEAST
    if any(own_limits(found.cell)):
        assert found.bound is AT_LEAST
    if found.bound is AT_LEAST:
        assert found.received_mbps.high == math.inf
    else:
        assert found.limit is None
        for each in cells:
            for mbps, limit in zip(each.values("received_mbps"), own_limits(each), strict=True):
                assert limit is None or mbps <= found.received_mbps.value


@pytest.mark.parametrize(
    ("marks", "lost", "limit"),
    [
        (((), HELD, HELD), 0.0, Limit.OFFERED),
        ((HELD, HELD, HELD), 0.0, None),
        ((HELD, (*HELD, *GENERATOR), HELD), 0.0, Limit.GENERATOR),
        ((HELD, LINK, LINK), 0.0, Limit.LINK),
        ((GENERATOR, LINK, LINK), 0.0, Limit.LINK),
        ((HELD, ("limit-unknown",), HELD), 0.0, Limit.UNKNOWN),
        ((HELD, ("link-limited", "uplink-limited"), HELD), 0.5, Limit.LINK),
        ((GENERATOR, LINK, ("limit-unknown",)), 0.006, None),
    ],
)
def test_what_bounds_a_flood_is_decided_by_trial(
    marks: tuple[tuple[str, ...], ...], lost: float, limit: Limit | None, tmp_path: Path
) -> None:
    trials = [Made("raw", block, 900 * (1 - lost), 900.0, None, marks=own) for block, own in enumerate(marks)]
    summary = summary_of(tmp_path, trials)
    (maximum,), (row,) = summary.loads.maxima, summary.loads.throughput
    assert maximum.limit is limit
    assert {maximum.bound, row.received_mbps.bound} == {AT_LEAST if limit else EXACT}


def test_a_limit_that_nothing_explains_is_worded(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, flood([900, 901], ("limit-unknown",)), SLOWER)
    assert "20,000 frames, with a source that neither waited nor was busy (95%" in said(summary, "raw")
    assert "; raw with a source that neither waited nor was busy)" in said(summary, "container")
    assert any("neither waited nor was busy" in caveat.subject for caveat in summary.caveats)


@pytest.mark.parametrize("marks", [(), GENERATOR, LINK, HELD])
def test_throughput_at_a_stated_load_is_never_a_bound(marks: tuple[str, ...], tmp_path: Path) -> None:
    summary = summary_of(tmp_path, paced(400, [400, 399], marks=marks, streams=2))
    for table in (throughput_table(summary), stream_table(summary)):
        assert not any("≥" in text_of(cell) for row in rows(table) for cell in row)
    assert summary.loads.throughput[0].received_mbps.bound is EXACT
    maxima = [text_of(row[2]) for row in rows(maximum_table(summary))]
    assert ["≥" in text for text in maxima] == [marks != HELD] * 3


@pytest.mark.parametrize(
    ("raw", "container", "bound", "number", "sentence", "reading"),
    [
        (EXACT, EXACT, EXACT, "−5", "carries 5", "carries less"),
        (AT_LEAST, EXACT, AT_MOST, "≤−5", "carries at least 5", "at least this cost: raw at"),
        (EXACT, AT_LEAST, AT_LEAST, "≥−5", "carries at most 5", "at most this cost: container at"),
        (AT_LEAST, AT_LEAST, WITHHELD, "withheld", "carries at least 401.0", "both at the generator's"),
    ],
)
def test_the_algebra_in_a_table_a_sentence_and_a_claim(
    raw: Bound, container: Bound, bound: Bound, number: str, sentence: str, reading: str, tmp_path: Path
) -> None:
    trials = [
        *flood([900, 902, 901], HELD if raw is EXACT else GENERATOR),
        *flood([400, 401, 402], HELD if container is EXACT else GENERATOR, platform="container"),
    ]
    result = make(tmp_path / "r", trials)
    summary = summarise(result)
    (line,) = rows(tax_of_capacity(summary))
    assert text_of(line[1]).startswith(number)
    assert text_of(line[6]).startswith(reading)
    assert interval_of(line[1]).startswith("(" if bound is AT_MOST else "" if bound is WITHHELD else "[")
    assert interval_of(line[1]).endswith("∞)" if bound is AT_LEAST else "" if bound is WITHHELD else "]")
    assert said(summary, "container").startswith(sentence)
    samples = read_samples(result, read_provenance(result))
    for metric, at in (("maximum_mbps", {}), ("throughput_mbps", {"intended_mbps": "max"})):
        below = Ratio(kind="ratio", metric=metric, at=at, over={"platform": "raw"}, below=0.9)
        above = Ratio(kind="ratio", metric=metric, at=at, over={"platform": "raw"}, above=0.4)
        verdicts = [verdict(test, samples[metric]) for test in (below, above)]
        assert verdicts == [
            ClaimVerdict.HOLDS if bound in (EXACT, AT_MOST) else ClaimVerdict.UNDECIDED,
            ClaimVerdict.HOLDS if bound in (EXACT, AT_LEAST) else ClaimVerdict.UNDECIDED,
        ]
        judged = judge(below, "container", False, samples[metric])
        assert judged.decisive is not None
        assert judged.decisive.estimate.bound is bound
        shown = effect_number(below, judged.decisive.estimate)
        assert shown.text[:1] == {EXACT: "0", AT_MOST: "≤", AT_LEAST: "≥", WITHHELD: "w"}[bound]


def verdict(test: AnyCheck, samples: Sequence[Any], platform: str = "container") -> ClaimVerdict:
    return judge(test, platform, False, samples).verdict


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            flood([890, 890, 640], HELD, platform="container"),
            "at most −11.4% throughput of 64-byte frames against raw at no more than 0.5% loss",
        ),
        (flood([950, 952, 951], HELD, platform="container"), "carries at most 5.7% more 64-byte frames"),
    ],
)
def test_a_change_that_is_only_bounded_from_above(found: list[Made], text: str, tmp_path: Path) -> None:
    """It may be below zero by any amount, so that nothing says how much more, or that it is none."""
    summary = summary_of(tmp_path, flood([900] * 3, GENERATOR), found)
    assert said(summary, "container").startswith(text)
    assert "∞" not in said(summary, "container")


def test_loss_and_cpu_are_bounds_where_that_trials_source_could_do_no_more(tmp_path: Path) -> None:
    """Both cells have a generator-limited trial; only of the pairs with that block is the ratio a bound."""
    beside = paced(400, [380] * 3, platform="container", marks=GENERATOR)
    trials = [*paced(400, [390] * 4), *beside, *paced(400, [380], platform="other")]
    trials = [
        Made(
            **{**vars(made), "marks": GENERATOR if (made.platform, made.block) == ("raw", 3) else made.marks}
        )
        for made in trials
    ]
    result = make(tmp_path / "r", trials)
    samples = read_samples(result, read_provenance(result))
    for metric in ("loss_ratio", "host_percent"):
        by_platform = {sample.platform: sample for sample in samples[metric]}
        raw, container, other = (by_platform[name] for name in ("raw", "container", "other"))
        assert [each.bound() for each in (raw, container, other)] == [AT_LEAST, AT_LEAST, EXACT]
        against = container.ratio(raw)
        assert against is not None and (against.bound, against.n) == (AT_LEAST, 3)
        beside_other = other.ratio(raw)
        assert beside_other is not None and beside_other.bound is EXACT
    cpu = BoundCheck(kind="bound", metric="host_percent", below=90)
    assert verdict(cpu, samples["host_percent"], "container") is ClaimVerdict.UNDECIDED


def test_interference_follows_the_same_algebra(tmp_path: Path) -> None:
    def at(behaviour: str, rates: list[float], marks: tuple[str, ...]) -> list[Made]:
        return flood(rates, marks, further=(("neighbours", behaviour),))

    cells = [
        at("none", [400, 404], GENERATOR),
        at("idle", [800, 804], HELD),
        at("heavy", [200, 202], GENERATOR),
    ]
    summary = summary_of(tmp_path, *cells, scenario={"figures": ["interference"]})
    told = {(text_of(row[1]), text_of(row[2])): row for row in rows(interference_table(summary))}
    where = "at the generator's ceiling"
    assert {place: [text_of(cell) for cell in row[3:5]] for place, row in told.items()} == {
        ("idle", "none"): ["≤1.995", f"no significant difference: none {where}"],
        ("heavy", "idle"): ["≥0.251", f"no significant difference: heavy {where}"],
        ("heavy", "none"): ["withheld", f"both {where}"],
    }
    heat = next(figure for figure in draw_figures(summary) if figure.name == "interference")
    assert heat.panels[0].plot.data[0].text[0][0] == "(≥0.251)"


def test_a_heat_map_of_what_is_withheld_is_empty_there(tmp_path: Path) -> None:
    cells = [
        flood(rates, GENERATOR, further=(("neighbours", behaviour),))
        for behaviour, rates in (("none", [400.0, 404.0]), ("heavy", [200.0, 202.0]))
    ]
    summary = summary_of(tmp_path, *cells, scenario={"figures": ["interference"]})
    heat = next(figure for figure in draw_figures(summary) if figure.name == "interference")
    trace = heat.panels[0].plot.data[0]
    assert ([list(row) for row in trace.z], [list(row) for row in trace.text]) == ([[None]], [["withheld"]])


BUSY = ("far-end-busy",)


@pytest.mark.parametrize(
    ("raw", "container", "bound"),
    [
        ((), (), EXACT),
        (BUSY, (), AT_MOST),
        ((), BUSY, AT_LEAST),
        (BUSY, BUSY, WITHHELD),
    ],
)
def test_efficiency_follows_the_same_algebra(
    raw: tuple[str, ...], container: tuple[str, ...], bound: Bound, tmp_path: Path
) -> None:
    trials = [
        *bulk_blocks([[700.0], [702.0]], marks=raw),
        *bulk_blocks([[350.0], [352.0]], platform="container", marks=container),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    (row,) = summary.streams.sharing.efficiency
    assert isinstance(row, Efficiency) and row.efficiency is not None
    assert row.efficiency.bound is bound
    assert row.problem == ("both at the far ends' CPU" if bound is WITHHELD else None)
    text = said(summary, "container")
    if bound is WITHHELD:
        assert "cannot be compared with raw's with one guest, both at the far ends' CPU" in text
    else:
        assert f"{bound.words}0.501 times raw's with one guest" in text


def test_a_full_link_is_no_bound_of_the_far_ends(tmp_path: Path) -> None:
    trials = bulk_blocks([[940.0], [700.0]], marks=BUSY)
    bounds = []
    for number, made in enumerate(trials):
        (row,) = summarise(make(tmp_path / str(number), [made])).streams.sharing.goodput
        bounds.append(row.aggregate_mbps.bound)
    assert bounds == [EXACT, AT_LEAST]


def test_precision_is_judged_by_scatter_whatever_bounds_the_value(tmp_path: Path) -> None:
    precision = {"relative_width": 0.05, "of": "throughput", "least": 3, "budget_s": None}
    rates = [900.0, 901.0, 899.0, 900.5, 899.5, 900.0]
    summary = summary_of(tmp_path, flood(rates, GENERATOR), scenario={"precision": precision})
    (row,) = summary.precision
    assert (row.reached, row.received_mbps.bound, row.received_mbps.high) == (True, AT_LEAST, math.inf)


def test_measured_metrics_tell_what_bounded_them(tmp_path: Path) -> None:
    cells = [*REVIEWED, *SLOWER, *paced(400, [400] * 3, marks=GENERATOR)]
    found = read_measured(make(tmp_path / "r", cells))
    told = {each.platform + key[0].rpartition("=")[2]: each for key, each in found.items()}
    assert {name: each.limit_of(THROUGHPUT) for name, each in told.items()} == {
        "rawmax": Limit.GENERATOR,
        "containermax": None,
        "raw400": None,
    }
    assert told["rawmax"].bound(THROUGHPUT) is AT_LEAST
    assert told["rawmax"].bound(LOSS) is EXACT


@pytest.mark.parametrize(
    ("later", "shown", "bound"),
    [(HELD, "≤−9.9", "at most"), (GENERATOR, "withheld", "withheld")],
)
def test_a_change_of_level_is_read_by_its_sides(
    later: tuple[str, ...], shown: str, bound: str, tmp_path: Path
) -> None:
    for number in range(12):
        after = number >= 7
        rates = [(810.0 if after else 900.0) + number / 10 + block for block in range(2)]
        make(
            tmp_path / f"run-{number:02}",
            flood(rates, later if after else GENERATOR),
            created_at=f"2026-01-{number + 1:02}T00:00:00+00:00",
        )
    history = read_history(tmp_path, 0.05)
    series = [one for one in history.chapters[0].series if one.metric is THROUGHPUT]
    (line,) = rows(level_table(series))
    assert text_of(line[3]).startswith(shown)
    assert "before" in text_of(line[5]) or "both at the generator's ceiling" in text_of(line[5])
    document = json.loads(json.dumps(history_document(history).as_json(), allow_nan=False))
    assert broken(document, document_schema("history")) == []
    (found,) = [one for one in document["experiments"][0]["series"] if one["metric"] == "throughput"]
    (level,) = found["level_changes"]
    assert (level["change"]["bound"], level["change"]["low"]) == (bound, None)
    assert (found["points"][0]["bound"], found["points"][0]["high"]) == ("at least", None)


def test_openmetrics_name_a_lower_bound_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make(tmp_path / "r", [*REVIEWED, *SLOWER])
    assert main(["export", str(made.directory), "--format", "openmetrics"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("vtax_throughput_bits")]
    bounds = {
        name: [
            line.partition('bound="')[2].partition('"')[0] for line in lines if f"platform={name} " in line
        ]
        for name in ("raw", "container")
    }
    assert bounds == {"raw": ["at least", "low"], "container": ["mean", "low", "high"]}


BOUNDS = st.sampled_from([EXACT, AT_LEAST, AT_MOST])
POSITIVE = st.floats(0.1, 100)


def allows(bound: Bound, shown: float, true: float) -> bool:
    return {
        EXACT: math.isclose(true, shown, rel_tol=1e-9),
        AT_LEAST: true >= shown * (1 - 1e-9),
        AT_MOST: true <= shown * (1 + 1e-9),
    }.get(bound, True)


@given(BOUNDS, BOUNDS, POSITIVE, POSITIVE, st.floats(1, 10), st.floats(1, 10))
def test_the_algebra_is_true_of_every_value_that_the_sides_allow(
    one: Bound, other: Bound, first: float, second: float, more: float, more_still: float
) -> None:
    def true(bound: Bound, shown: float, factor: float) -> float:
        return {EXACT: shown, AT_LEAST: shown * factor, AT_MOST: shown / factor}[bound]

    a, b = true(one, first, more), true(other, second, more_still)
    assert allows(one.over(other), first / second, a / b)
    assert allows(together([one, other]), first + second, a + b)
    assert (one.over(other) is WITHHELD) == (together([one, other.turned]) is WITHHELD)


@given(BOUNDS, st.floats(-50, 50), st.floats(0, 5))
def test_a_falling_scale_turns_a_bound(bound: Bound, value: float, half: float) -> None:
    found = Estimate(value, value - half, value + half, 3, 0.0).read_as(bound)
    turned = found.map(lambda each: -2 * each)
    assert turned.bound is bound.turned
    assert turned.map(lambda each: -each / 2) == found
    assert turned.includes(-2 * value)


def test_what_is_withheld_has_no_number() -> None:
    found = Estimate(0.5, 0.4, 0.6, 3, 0.0).read_as(WITHHELD)
    assert math.isnan(found.value) and not found.has_interval
    document = estimate_document(found)
    assert (document.value, document.low, document.high, document.bound) == (None, None, None, "withheld")
    assert (found.n, found.left_out) == (3, 0.0)
