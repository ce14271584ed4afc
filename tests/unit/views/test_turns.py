"""Levels measured by turns: quads, verdicts, the intervals that agree with them, and when cells are decided."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.helpers.json_schema import broken
from tests.helpers.paths import ROOT
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.inputs import InputError
from vtax.model.metrics import THROUGHPUT
from vtax.results import Result
from vtax.statistics import relative_change
from vtax.views.compare import Comparison, Outcome, Unit
from vtax.views.compare.changes import CellChange, changes
from vtax.views.compare.quads import in_quads
from vtax.views.compare.rules import judge, parse_rules
from vtax.views.compare.turns import WAITED_QUADS, open_turns, rule_progress, rules_for
from vtax.views.metrics import MeasuredCell

Captured = pytest.CaptureFixture[str]
AB = {"by": "platform", "fail_on": "throughput<-5%"}


def by_turns(directory: Path, rates: dict[str, list[float]], **made: Any) -> Result:
    """A platform's rates by block, of cells of 64 and 1500 bytes alike."""
    trials = [
        Made(name, block, received_mbps=rate, offered_mbps=400.0, frame_bytes=size, **made)
        for name, values in rates.items()
        for size in (64, 1500)
        for block, rate in enumerate(values)
    ]
    return make(directory, trials, scenario={"ab": AB})


def compared(result: Result) -> Comparison:
    found = open_turns(result.directory)
    assert found is not None
    return found


def noisy(level: float, blocks: int, seed: int, spread: float = 0.004) -> list[float]:
    return [*(level * (1 + spread * np.random.default_rng(seed).standard_normal(blocks)))]


def test_what_rises_evenly_is_in_both_levels_alike(tmp_path: Path) -> None:
    """A B B A: the machine becomes slower by a seventh in a quad, and the platforms are alike."""
    quads, order = 5, (0, 3, 2, 1)
    drift = [1 - 0.05 * place for place in range(4)]
    raw = [100.0 * drift[order[0 if block % 2 == 0 else 1]] for block in range(2 * quads)]
    container = [100.0 * drift[order[3 if block % 2 == 0 else 2]] for block in range(2 * quads)]
    found = compared(by_turns(tmp_path / "r", {"raw": raw, "container": container}))
    (change, _) = (change for change in found.changes if change.metric is THROUGHPUT)
    assert found.unit is Unit.QUAD
    assert change.change is not None and change.change.n == quads
    assert change.change.value == pytest.approx(0.0, abs=1e-9)


def test_a_fixed_number_of_quads_is_judged_once_by_students_intervals(tmp_path: Path) -> None:
    rates = {"raw": noisy(100.0, 12, 1), "container": noisy(93.0, 12, 2, 0.02)}
    at_any_number = compared(by_turns(tmp_path / "any", rates))
    trials = [
        Made(name, block, received_mbps=rate, offered_mbps=400.0, frame_bytes=64)
        for name, values in rates.items()
        for block, rate in enumerate(values)
    ]
    result = make(tmp_path / "fixed", trials, scenario={"ab": {**AB, "fixed": True}})
    found = compared(result)
    assert (found.unit, found.anytime, result.is_adaptive) == (Unit.QUAD, False, False)
    (one,) = (change for change in found.changes if change.metric is THROUGHPUT)
    quads = [np.asarray(rates[name]).reshape(-1, 2).mean(axis=1).tolist() for name in ("raw", "container")]
    by_hand = relative_change(*quads, resolution=0.001, paired=True)
    assert by_hand is not None and one.change is not None
    assert (one.change.low, one.change.high) == pytest.approx((by_hand.interval.low, by_hand.interval.high))
    (rule,) = found.judged
    (same, _) = at_any_number.judged
    assert (rule.outcome, same.outcome) == (Outcome.BROKEN, Outcome.UNDECIDED)


def test_the_page_has_how_many_quads_a_fixed_number_takes() -> None:
    """By Student's noncentral t: 90% of cells have an interval on the side of the limit where their change is."""
    page = (ROOT / "docs/ab.md").read_text().partition("`--fixed N`")[2]
    rows = re.findall(r"^\| (−10%|−8%|none).*?\| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    levels = {"−10%": 0.90, "−8%": 0.92, "none": 1.0}
    assert [name for name, *_ in rows] == [*levels]
    for name, *told in rows:
        distance = abs(math.log(levels[name] / 0.95)) - 0.001
        for scatter, quads in zip((0.02, 0.05), map(int, told), strict=True):
            power = [
                float(stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, distance * math.sqrt(n) / scatter))
                for n in (quads - 1, quads)
            ]
            assert power[0] < 0.9 <= power[1]


def test_a_quad_that_lacks_a_block_counts_for_nothing() -> None:
    cell = MeasuredCell(
        "all",
        "own",
        "raw",
        5,
        {"throughput": (1.0,), "loss": (1.0,)},
        by_block={"throughput": {0: 4.0, 1: 9.0, 2: 5.0, 5: 7.0}, "loss": {0: 0.1, 1: 0.3}},
    )
    assert in_quads(cell).by_block == {"throughput": {0: 6.5}, "loss": {0: pytest.approx(0.2)}}


def test_a_trial_of_nothing_is_half_of_its_quad(tmp_path: Path) -> None:
    found = compared(by_turns(tmp_path / "r", {"raw": noisy(100.0, 16, 1), "container": [100.0, 0.0] * 8}))
    change = next(change.change for change in found.changes if change.metric is THROUGHPUT)
    assert change is not None and change.value == pytest.approx(-0.5, abs=0.01)


def test_levels_that_forward_in_different_contexts_leave_rules_undecided(tmp_path: Path) -> None:
    trials = [
        Made(name, block, received_mbps=100.0, offered_mbps=400.0, uut_context=context)
        for name, context in (("raw", "sender"), ("container", "own"))
        for block in range(8)
    ]
    result = make(tmp_path / "r", trials, scenario={"ab": AB})
    assert {one.reason for one in compared(result).judged} == {
        "only another CPU context in A",
        "only another CPU context in B",
    }
    assert rule_progress(result, 8).decided == 0


def test_a_worse_level_breaks_the_rule_and_an_equal_one_passes(tmp_path: Path, capsys: Captured) -> None:
    raw = noisy(100.0, 16, 1)
    worse = compared(by_turns(tmp_path / "worse", {"raw": raw, "container": noisy(90.0, 16, 2)}))
    assert worse.outcomes == {Outcome.BROKEN: 2, Outcome.UNDECIDED: 0, Outcome.PASSED: 0}
    equal = compared(by_turns(tmp_path / "equal", {"raw": raw, "container": noisy(100.0, 16, 3)}))
    assert equal.outcomes == {Outcome.BROKEN: 0, Outcome.UNDECIDED: 0, Outcome.PASSED: 2}
    few = compared(by_turns(tmp_path / "few", {"raw": raw[:4], "container": noisy(90.0, 4, 2)}))
    assert few.outcomes[Outcome.UNDECIDED] == 2
    assert {one.reason for one in few.judged} == {"too few values for an interval"}


def rows_of(logarithms: list[list[float]], rules: str) -> tuple[list[CellChange], list[MeasuredCell]]:
    """Cells of which B is the reference times e to these, quad by quad."""
    sides = [
        {
            (f"cell={number}", "own"): MeasuredCell(
                f"cell={number}",
                "own",
                "raw",
                len(values),
                {THROUGHPUT.name: side},
                by_block={THROUGHPUT.name: dict(enumerate(side))},
            )
            for number, values in enumerate(logarithms)
            for side in [[100.0 * float(np.exp(sign * value)) for value in values]]
        }
        for sign in (0, 1)
    ]
    keys = list(sides[0])
    found = changes(
        sides[0], sides[1], [(key, key) for key in keys], [THROUGHPUT], 0.05, adaptive=True, unit=Unit.QUAD
    )
    return found, [*sides[1].values()]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), quads=st.integers(2, 12), spread=st.sampled_from([0.003, 0.02, 0.1]))
def test_the_interval_that_is_shown_says_what_the_verdict_says(seed: int, quads: int, spread: float) -> None:
    drawn = np.random.default_rng(seed)
    levels = drawn.choice([-0.2, -0.1, -0.05, 0.0, 0.1], size=8)
    logarithms = (levels[:, np.newaxis] + spread * drawn.standard_normal((8, quads))).tolist()
    rows, keys = rows_of(logarithms, "throughput<-5%")
    rules = parse_rules("throughput<-5%,throughput>+20%")
    for one in judge(rules, rows, keys, [], anytime=True):
        assert one.change is not None and one.change.change is not None
        low, high = one.change.change.low, one.change.change.high
        if low is None or high is None:
            assert one.outcome is Outcome.UNDECIDED
            continue
        worst, best = (low, high) if one.rule.below else (high, low)
        expected = (
            Outcome.BROKEN
            if one.rule.is_beyond(best)
            else Outcome.UNDECIDED
            if one.rule.is_beyond(worst)
            else Outcome.PASSED
        )
        assert one.outcome is expected


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "wrong"), [(-0.05, Outcome.BROKEN), (-0.0500001, Outcome.PASSED)])
def test_who_stops_when_it_suits_is_wrong_in_one_run_of_twenty(truth: float, wrong: Outcome) -> None:
    """The true change lies at the limit in every cell, and somebody stops as soon as any verdict is wrong."""
    drawn, rules = np.random.default_rng(35), parse_rules("throughput<-5%")
    runs, wrong_runs = 40, 0
    for _ in range(runs):
        logarithms = np.log1p(truth) + 0.03 * drawn.standard_normal((4, 8))
        for quads in range(3, 9):
            judged = judge(rules, *rows_of(logarithms[:, :quads].tolist(), ""), [], anytime=True)
            if any(one.outcome is wrong for one in judged):
                wrong_runs += 1
                break
    assert wrong_runs <= 5, f"{wrong_runs} of {runs}; at 5% six or more come in 1.4% of such tests"


def test_cells_that_are_decided_are_not_open(tmp_path: Path) -> None:
    trials = [
        Made(name, block, received_mbps=rate, offered_mbps=400.0, frame_bytes=size)
        for name, size, level, spread in (
            ("raw", 64, 100.0, 0.003),
            ("container", 64, 80.0, 0.003),
            ("raw", 1500, 100.0, 0.1),
            ("container", 1500, 97.0, 0.1),
        )
        for block, rate in enumerate(noisy(level, 12, size + len(name), spread))
    ]
    result = make(tmp_path / "r", trials, scenario={"ab": AB})
    found = rule_progress(result, 12)
    assert (found.decided, found.of) == (1, 2)
    assert {key.split("frame_bytes=")[1].split()[0] for key in found.open} == {"1500"}
    assert {key.split()[0] for key in found.open} == {"platform=raw", "platform=container"}
    assert rule_progress(result, 4).decided == 0


def test_later_blocks_are_not_looked_at(tmp_path: Path) -> None:
    raw, container = noisy(100.0, 16, 1), noisy(90.0, 16, 2)
    whole = by_turns(tmp_path / "whole", {"raw": raw, "container": container})
    part = by_turns(tmp_path / "part", {"raw": raw[:8], "container": container[:8]})
    assert rule_progress(whole, 8) == rule_progress(part, 8)


def test_a_cell_without_a_value_to_compare_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    rates = {"raw": noisy(100.0, 16, 1), "container": noisy(100.0, 16, 2)}
    trials = [
        Made(name, block, received_mbps=rate, offered_mbps=400.0, samples=100)
        for name, values in rates.items()
        for block, rate in enumerate(values)
    ]
    scenario = {"ab": {"by": "platform", "fail_on": "latency_p99>+10%"}}
    result = make(tmp_path / "r", trials, scenario=scenario)
    assert len(rule_progress(result, 2 * WAITED_QUADS - 2).open) == 2
    assert rule_progress(result, 2 * WAITED_QUADS).open == frozenset()


def test_a_stray_trial_in_another_context_leaves_no_rule_undecided(tmp_path: Path) -> None:
    rates = {"raw": noisy(100.0, 16, 1), "container": noisy(100.0, 16, 2)}
    trials = [
        Made(
            name,
            block,
            received_mbps=rate,
            offered_mbps=400.0,
            uut_context="sender" if (name, block) == ("raw", 3) else "own",
        )
        for name, values in rates.items()
        for block, rate in enumerate(values)
    ]
    found = compared(make(tmp_path / "r", trials, scenario={"ab": AB}))
    assert found.outcomes == {Outcome.BROKEN: 0, Outcome.UNDECIDED: 0, Outcome.PASSED: 1}
    assert found.only_in_a == ["all"]


def test_of_one_level_alone_nothing_is_found(tmp_path: Path) -> None:
    result = by_turns(tmp_path / "r", {"raw": noisy(100.0, 8, 1)})
    assert open_turns(result.directory) is None
    assert rule_progress(result, 8).open == frozenset()


def test_a_result_that_was_not_measured_by_turns_is_refused(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [Made("raw"), Made("container")])
    with pytest.raises(
        InputError, match="was not measured by turns; to compare two levels of it: vtax compare"
    ):
        open_turns(result.directory)


def test_rules_of_what_is_not_measured_are_refused() -> None:
    with pytest.raises(InputError, match="do not measure goodput"):
        rules_for("goodput<-5%", "forwarding")


def test_compare_reads_it_by_other_rules_as_well(tmp_path: Path, capsys: Captured) -> None:
    result = by_turns(
        tmp_path / "r", {"raw": noisy(100.0, 16, 1), "container": noisy(90.0, 16, 2)}, delay_ns=5_000
    )
    words = ["compare", str(result.directory), "--by", "platform", "--fail-on"]
    assert main([*words, "throughput<-5%"]) == 4
    assert "n is quads of both" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "throughput<-20%"]) == 0
    capsys.readouterr()
    assert main([*words, "throughput<-5%", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["unit"] == "quad"
    assert broken(document, document_schema("compare")) == []
    assert all(rule["change"]["high"] < -0.05 for rule in document["broken_rules"])


def test_the_first_level_is_the_reference_whatever_its_text(tmp_path: Path) -> None:
    """Also where the name of a cell has it in quotes."""
    levels = {"netem loss 30%": 90.0, "netem loss 0.1%": 100.0}
    trials = [
        Made("container", block, received_mbps=rate, offered_mbps=400.0, further=(("egress_qdisc", level),))
        for level, mean in levels.items()
        for block, rate in enumerate(noisy(mean, 16, len(level)))
    ]
    scenario = {
        "ab": {"by": "egress_qdisc", "fail_on": "throughput<-5%"},
        "factors": {"platform": ["container"], "egress_qdisc": [*levels]},
    }
    found = compared(make(tmp_path / "r", trials, scenario=scenario))
    assert found.a.endswith("egress_qdisc=netem loss 30%")
    assert found.outcomes[Outcome.PASSED] == 1
