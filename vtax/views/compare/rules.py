"""What a comparison is to fail on: `throughput<-5%,latency_p99>+10%`, and each cell's verdict by each rule.

A rule passes in a cell only where the interval of the change lies wholly inside the rule's limit. It is broken where
the interval lies wholly beyond the limit, and undecided in all other cells: a gate that passes what it cannot decide
is none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vtax.inputs import InputError
from vtax.model.metric import Metric
from vtax.model.metrics import OF_LOADS
from vtax.model.numbers import BEYOND_USE
from vtax.statistics import Change, Interval, discoveries, discovery_level
from vtax.statistics.interval import CONFIDENCE
from vtax.statistics.unpaired import FALSE_DISCOVERY_RATE
from vtax.views.compare.changes import CellChange
from vtax.views.compare.earlier import UNDECIDED_BY_IT
from vtax.views.metrics import ALL, MeasuredCell

PERCENT, POINTS = "%", "pp"
CROSSES, TOO_FEW = "the interval crosses the limit", "too few values for an interval"
PASSED_WRONGLY: Final = 0.025
"""How likely a rule passes whose limit the true change reaches: the interval misses it on that side."""

_NAMED = (*ALL, *OF_LOADS)
_RULE = re.compile(
    r"(?P<metric>\w+)\s*(?P<side>[<>])\s*(?P<bound>[+-]?\d{1,6}(\.\d{1,6})?)\s*(?P<unit>%|pp)?", re.ASCII
)


@dataclass(frozen=True)
class Rule:
    """A limit that no cell's change may be beyond; `bound` is a share, or of a metric in points a difference."""

    text: str
    metric: Metric
    below: bool
    bound: float

    @property
    def is_of_loads(self) -> bool:
        """Whether it limits a metric of several loads together."""
        return self.metric in OF_LOADS

    def is_beyond(self, change: float) -> bool:
        """Whether a change is on the wrong side of the limit."""
        return change < self.bound if self.below else change > self.bound


class Outcome(StrEnum):
    """A rule's verdict on a cell."""

    BROKEN = "broken"
    UNDECIDED = "undecided"
    PASSED = "passed"


@dataclass(frozen=True)
class Absent:
    """A cell of which a campaign has no usable trial, and why; one that is `of_loads` is of several together."""

    cell: str
    uut_context: str
    reason: str
    of_loads: bool = False


@dataclass(frozen=True)
class Judged:
    """A rule's verdict on a cell.

    `change` is None where nothing of the metric was measured in common; its interval is the one that was judged.
    `reason` says why the rule is undecided.
    `detectable` is the smallest change beyond the limit that 80% of such campaigns would find, None where they find
    none. `lacking` is about how many more repetitions of each side, or blocks, would decide; None where none would.
    """

    rule: Rule
    cell: str
    uut_context: str
    change: CellChange | None
    outcome: Outcome
    reason: str = ""
    detectable: float | None = None
    lacking: int | None = None


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Read rules with commas between them. InputError says which is wrong, and what is allowed."""
    return tuple(_rule(part.strip()) for part in text.split(","))


def check_rules(rules: Collection[Rule], metrics: Collection[Metric]) -> None:
    """InputError for a rule of a metric that the campaigns do not measure."""
    for rule in rules:
        if rule.metric not in metrics:
            names = ", ".join(metric.name for metric in metrics)
            if rule.is_of_loads:
                raise InputError(
                    f"--fail-on: '{rule.text}': {rule.metric.name} is compared between two campaigns with several "
                    f"loads each, as in vtax compare A B; here name one of: {names}"
                )
            raise InputError(
                f"--fail-on: '{rule.text}': these campaigns do not measure {rule.metric.name}; they measure: {names}"
            )


def judge(
    rules: Sequence[Rule],
    rows: Sequence[CellChange],
    cells: Sequence[MeasuredCell],
    absent: Sequence[Absent],
    *,
    anytime: bool = False,
) -> list[Judged]:
    """Return each rule's verdict on each of the compared `cells` and of the `absent` ones, in that order.

    A rule of several loads together has one on the cells that are of several, any other on the others.

    At most 5% of the broken ones are so by chance: all cells of all rules are corrected together (Benjamini and
    Hochberg 1995). A cell whose true change is beyond the limit passes with a chance of 2.5% at most.

    `anytime` is for evidence that holds at any number of values: one that passes wrongly counts as one broken wrongly.
    """
    found = {(row.cell, row.uut_context, row.metric.name): row for row in rows}
    placed = [
        (rule, (cell.cell, cell.uut_context), found.get((cell.cell, cell.uut_context, rule.metric.name)))
        for rule in rules
        for cell in cells
        if rule.is_of_loads is bool(cell.loads)
    ]
    tried = [(rule, row.evidence) for rule, _, row in placed if row is not None and row.evidence is not None]
    discovered = discoveries([_p_value(rule, evidence) for rule, evidence in tried])
    level = discovery_level(sum(discovered), len(tried)) if tried else 0.0
    if anytime:
        passing = discoveries([_p_value(rule, evidence, passes=True) for rule, evidence in tried])
        passed_wrongly = discovery_level(sum(passing), len(tried)) if tried else 0.0
        rulings = iter(_at_any_number(tried, discovered, passing))
    else:
        passed_wrongly, rulings = PASSED_WRONGLY, iter(_at_this_number(tried, discovered))
    judged = []
    for rule, (cell, context), row in placed:
        if row is None or row.evidence is None:
            reason = "no value in A and B" if row is None else row.note
            judged.append(Judged(rule, cell, context, row, Outcome.UNDECIDED, reason))
        else:
            ruling = next(rulings)
            outcome, reason, shown = ruling.outcome, ruling.reason, row.at(ruling.confidence)
            if outcome is Outcome.UNDECIDED and row.bounded_by:
                reason = f"{reason}; {row.bounded_by}"
            detectable = _detectable(rule, row.evidence, level)
            lacking = _lacking(rule, row, level, passed_wrongly) if outcome is Outcome.UNDECIDED else None
            closed = row.evidence.interval.low is not None and row.evidence.interval.high is not None
            assumed = row.scatter is not None and row.scatter.is_assumed
            if outcome is Outcome.UNDECIDED and lacking is None and assumed and closed:
                reason = f"{reason}; {UNDECIDED_BY_IT}"
            judged.append(Judged(rule, cell, context, shown, outcome, reason, detectable, lacking))
    return judged + [
        Judged(rule, one.cell, one.uut_context, None, Outcome.UNDECIDED, one.reason)
        for rule in rules
        for one in absent
        if rule.is_of_loads is one.of_loads
    ]


@dataclass(frozen=True)
class _Ruling:
    """A rule's verdict on a cell, why it is undecided, and the confidence of the interval that says so."""

    outcome: Outcome
    reason: str = ""
    confidence: float = CONFIDENCE


_Tried = Sequence[tuple[Rule, Change]]


def _at_this_number(tried: _Tried, discovered: Sequence[bool]) -> list[_Ruling]:
    """By the 95% intervals, of which those beyond the limit are corrected together."""
    return [
        _Ruling(*_outcome(rule, evidence.interval, found, len(tried)))
        for (rule, evidence), found in zip(tried, discovered, strict=True)
    ]


def _at_any_number(tried: _Tried, discovered: Sequence[bool], passing: Sequence[bool]) -> list[_Ruling]:
    """By evidence that holds at any number of values; what is broken, and what passes, is corrected alike.

    The inverse of such a p value is an e-value (Wang and Ramdas, False discovery rate control with e-values, Journal of
    the Royal Statistical Society B 84, 2022: e-BH), so that of the broken ones at most 5% are so by chance, and of
    those that pass at most 5%, however the cells depend on each other and whenever one stopped. Intervals are those
    that agree (Xu, Wang and Ramdas, Post-selection inference for e-value based confidence intervals, Electronic Journal
    of Statistics 18, 2024: e-BY): of k cells found among K each misses with 5% k / K. A cell that is undecided has the
    interval that would have to exclude the limit for it to be found as well.
    """
    share = FALSE_DISCOVERY_RATE / len(tried) if tried else 0.0
    broken, passed = sum(discovered), sum(passing)
    rulings = []
    for (_, evidence), is_broken, passes in zip(tried, discovered, passing, strict=True):
        if is_broken:
            rulings.append(_Ruling(Outcome.BROKEN, "", 1 - share * broken))
        elif passes:
            rulings.append(_Ruling(Outcome.PASSED, "", 1 - share * passed))
        else:
            confidence = 1 - share * (min(broken, passed) + 1)
            known = evidence.interval_at(confidence)
            reason = CROSSES if known.low is not None or known.high is not None else TOO_FEW
            rulings.append(_Ruling(Outcome.UNDECIDED, reason, confidence))
    return rulings


def _outcome(rule: Rule, interval: Interval, discovered: bool, comparisons: int) -> tuple[Outcome, str]:
    """By the ends of the interval alone, of which either may be unknown."""
    best, worst = (interval.high, interval.low) if rule.below else (interval.low, interval.high)
    beyond = best is not None and rule.is_beyond(best)
    if beyond and discovered:
        return Outcome.BROKEN, ""
    if worst is not None and not rule.is_beyond(worst):
        return Outcome.PASSED, ""
    if beyond:
        return Outcome.UNDECIDED, f"beyond the limit, but not significant among {comparisons} comparisons"
    known = best is not None or worst is not None
    return Outcome.UNDECIDED, CROSSES if known else TOO_FEW


def _p_value(rule: Rule, evidence: Change, *, passes: bool = False) -> float:
    """The chance of such values where the rule is not broken; for one that `passes`, where it is."""
    return evidence.p_below(rule.bound) if rule.below != passes else evidence.p_above(rule.bound)


def _detectable(rule: Rule, evidence: Change, level: float) -> float | None:
    smallest = evidence.detectable_below if rule.below else evidence.detectable_above
    change = smallest(rule.bound, level)
    return change if change is not None and abs(change) < BEYOND_USE else None


def _lacking(rule: Rule, row: CellChange, level: float, passed_wrongly: float) -> int | None:
    """How many more repetitions of each side would show on which side of the limit the change lies."""
    if row.evidence is None:
        return None
    p_value = level if rule.is_beyond(row.evidence.interval.mean) else passed_wrongly
    values = row.evidence.lacking(rule.bound, p_value)
    return values if values is None or row.paired else math.ceil(values / 2)


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise InputError(
            f"--fail-on: '{text}' is no rule; one is METRIC<CHANGE or METRIC>CHANGE, as in throughput<-5% or "
            f"latency_p99>+10%, with commas between several"
        )
    metric = next((metric for metric in _NAMED if metric.name == match["metric"]), None)
    if metric is None:
        names = ", ".join(metric.name for metric in _NAMED)
        raise InputError(f"--fail-on: '{text}': no metric '{match['metric']}'; there are: {names}")
    unit = POINTS if metric.points else PERCENT
    if match["unit"] != unit:
        kind = "percentage points" if metric.points else "percent"
        example = f"{metric.name}{match['side']}{match['bound']}{unit}"
        raise InputError(f"--fail-on: '{text}': {metric.name} changes by {kind}, as in {example}")
    return Rule(text, metric, match["side"] == "<", float(match["bound"]) / 100)
