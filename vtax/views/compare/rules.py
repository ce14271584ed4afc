"""What a comparison is to fail on: `throughput<-5%,latency_p99>+10%`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.inputs import InputError
from vtax.statistics import discoveries
from vtax.views.compare.changes import CellChange
from vtax.views.metrics import ALL, Metric

PERCENT, POINTS = "%", "pp"

_RULE = re.compile(
    r"(?P<metric>\w+)\s*(?P<side>[<>])\s*(?P<bound>[+-]?\d{1,6}(\.\d{1,6})?)\s*(?P<unit>%|pp)?", re.ASCII
)


@dataclass(frozen=True)
class Rule:
    """A bound of a metric's change that no cell may be beyond; `bound` as a share, or of points as a difference."""

    text: str
    metric: Metric
    below: bool
    bound: float


@dataclass(frozen=True)
class Broken:
    """A cell that is beyond a rule's bound."""

    rule: Rule
    change: CellChange


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Read rules with commas between them. InputError says which is wrong, and what is allowed."""
    return tuple(_rule(part.strip()) for part in text.split(","))


def broken_rules(rules: Sequence[Rule], rows: Sequence[CellChange]) -> list[Broken]:
    """The cells whose 95% interval lies wholly beyond a rule's bound.

    At most 5% of those found are there by chance: all cells of all rules are corrected together (Benjamini and
    Hochberg 1995).
    """
    tried = [
        (Broken(rule, row), row.evidence)
        for rule in rules
        for row in rows
        if row.metric == rule.metric and row.evidence is not None
    ]
    p_values = [
        evidence.p_below(found.rule.bound) if found.rule.below else evidence.p_above(found.rule.bound)
        for found, evidence in tried
    ]
    return [
        found
        for (found, _), discovered in zip(tried, discoveries(p_values), strict=True)
        if discovered and _excludes(found)
    ]


def _excludes(found: Broken) -> bool:
    change = found.change.change
    if change is None or change.low is None or change.high is None:
        return False
    return change.high < found.rule.bound if found.rule.below else change.low > found.rule.bound


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise InputError(
            f"--fail-on: '{text}' is no rule; one is METRIC<CHANGE or METRIC>CHANGE, as in throughput<-5% or "
            f"latency_p99>+10%, with commas between several"
        )
    metric = next((metric for metric in ALL if metric.name == match["metric"]), None)
    if metric is None:
        names = ", ".join(metric.name for metric in ALL)
        raise InputError(f"--fail-on: '{text}': no metric '{match['metric']}'; there are: {names}")
    unit = POINTS if metric.points else PERCENT
    if match["unit"] != unit:
        kind = "percentage points" if metric.points else "percent"
        example = f"{metric.name}{match['side']}{match['bound']}{unit}"
        raise InputError(f"--fail-on: '{text}': {metric.name} changes by {kind}, as in {example}")
    return Rule(text, metric, match["side"] == "<", float(match["bound"]) / 100)
