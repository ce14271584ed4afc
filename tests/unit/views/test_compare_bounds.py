"""Changes of which only one end is known, since something other than the platform bounded a side."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.comparisons import (
    STEADY,
    compare_results,
    gate,
    made,
)
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.cli import main
from vtax.results import Result
from vtax.statistics import Change, Interval
from vtax.views.compare import ChangeVerdict, Outcome, compare, parse_rules
from vtax.views.compare.rules import judge
from vtax.views.compare.side import Side

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("low", "high", "rule", "outcome"),
    [
        (-0.02, None, "throughput<-5%", Outcome.PASSED),
        (-0.20, None, "throughput<-5%", Outcome.UNDECIDED),
        (None, -0.20, "throughput<-5%", Outcome.BROKEN),
        (None, 0.20, "throughput<-5%", Outcome.UNDECIDED),
        (None, 0.02, "throughput>+5%", Outcome.PASSED),
        (0.20, None, "throughput>+5%", Outcome.BROKEN),
        (None, None, "throughput<-5%", Outcome.UNDECIDED),
    ],
)
def test_a_change_with_one_bound_decides_what_that_bound_decides(
    low: float | None, high: float | None, rule: str, outcome: Outcome, sides: tuple[Side, Side]
) -> None:
    """A change that is only known to be at least, or at most, so large."""
    row = compare(*sides, within=0.05).changes[0]
    mean = next(0.0 if end is None else end for end in (low, high, 0.0) if end is not None)
    found = Interval(mean, low, high, 6)
    evidence = Change(found, lambda _: found, lambda _: 1e-6, lambda *_: None, lambda *_: None)
    (one,) = judge(
        parse_rules(rule),
        [replace(row, evidence=evidence)],
        [sides[1].measured[row.cell, row.uut_context]],
        [],
    )
    assert one.outcome is outcome


def flooded(directory: Path, values: Sequence[float], mark: str, **campaign: Any) -> Result:
    """A campaign of one flood that lost nothing, each trial with a mark."""
    return make(
        directory,
        [
            Made(block=block, received_mbps=mbps, offered_mbps=mbps, intended_mbps=None, marks=(mark,))
            for block, mbps in enumerate(values)
        ],
        **campaign,
    )


LOW, HIGH = [60.0, 60.3, 59.8, 60.1, 59.9], STEADY


@pytest.mark.parametrize(
    ("before", "after", "ends", "verdict", "outcome"),
    [
        (("backpressured", HIGH), ("backpressured", LOW), (True, True), ChangeVerdict.WORSE, Outcome.BROKEN),
        (
            ("generator-limited", HIGH),
            ("backpressured", LOW),
            (False, True),
            ChangeVerdict.WORSE,
            Outcome.BROKEN,
        ),
        (
            ("backpressured", HIGH),
            ("generator-limited", LOW),
            (True, False),
            ChangeVerdict.UNKNOWN,
            Outcome.UNDECIDED,
        ),
        (
            ("backpressured", LOW),
            ("generator-limited", HIGH),
            (True, False),
            ChangeVerdict.BETTER,
            Outcome.PASSED,
        ),
        (
            ("generator-limited", LOW),
            ("backpressured", HIGH),
            (False, True),
            ChangeVerdict.UNKNOWN,
            Outcome.UNDECIDED,
        ),
        (
            ("backpressured", HIGH),
            ("link-limited", HIGH),
            (True, False),
            ChangeVerdict.UNKNOWN,
            Outcome.PASSED,
        ),
    ],
)
def test_a_flood_that_something_else_bounded_shows_one_end_of_its_change(
    tmp_path: Path,
    before: tuple[str, list[float]],
    after: tuple[str, list[float]],
    ends: tuple[bool, bool],
    verdict: ChangeVerdict,
    outcome: Outcome,
) -> None:
    (mark, values), (other_mark, others) = before, after
    compared = compare_results(
        flooded(tmp_path / "a", values, mark),
        flooded(tmp_path / "b", others, other_mark, seed=2),
        within=0.05,
        rules=parse_rules("throughput<-5%"),
    )
    row = next(row for row in compared.changes if row.metric.name == "throughput")
    assert row.change is not None
    assert tuple(math.isfinite(end) for end in (row.change.low, row.change.high)) == ends
    assert row.verdict is verdict
    assert [one.outcome for one in compared.judged] == [outcome]


def test_a_change_between_two_lower_bounds_is_withheld_with_the_reason(
    tmp_path: Path, capsys: Captured
) -> None:
    a = flooded(tmp_path / "a", HIGH, "generator-limited")
    b = flooded(tmp_path / "b", LOW, "link-limited", seed=2)
    assert main(["compare", str(a.directory), str(b.directory), "--fail-on", "throughput<-5%"]) == 5
    shown = " ".join(capsys.readouterr().out.split())
    assert "withheld: A at the generator's ceiling and B at the link's rate" in shown
    assert "≥100" in shown
    assert "≥60" in shown
    assert "−40" not in shown


def test_a_bound_that_is_no_number_is_null_in_json(tmp_path: Path, capsys: Captured) -> None:
    before = made(tmp_path / "a", {"raw": [1e-150, 1e-100]})
    assert gate(before, made(tmp_path / "b", {"raw": [1e-150, 100.0]}), "throughput<-5%", "--json") == 5
    document = json.loads(capsys.readouterr().out)
    change = next(change for change in document["changes"] if change["metric"] == "throughput")
    assert change["change"]["high"] is None and change["change"]["low"] is not None


@pytest.mark.parametrize("mark", ["generator-limited", "limit-unknown"])
def test_what_bounded_a_throughput_is_its_note(mark: str, tmp_path: Path) -> None:
    trials = [Made("raw", block, received_mbps=100.0, marks=(mark,)) for block in range(4)]
    sides = make(tmp_path / "a", trials), make(tmp_path / "b", trials)
    compared = compare_results(*sides, within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "throughput")
    assert (found.verdict, found.note) == (ChangeVerdict.SAME, mark)
