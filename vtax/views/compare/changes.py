"""Each cell's change in each metric, and what may be said of it, all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from vtax.model import numbers
from vtax.model.bound import Bound, bounded_sides
from vtax.model.estimate import Estimate, estimate
from vtax.model.metric import Metric
from vtax.statistics import (
    CampaignScatter,
    Change,
    absolute_change,
    discoveries,
    in_pairs,
    relative_change,
)
from vtax.statistics.interval import CONFIDENCE
from vtax.views.compare.earlier import CampaignEffect
from vtax.views.compare.unit import Unit
from vtax.views.metrics import Key, MeasuredCell, step_of_change


class ChangeVerdict(StrEnum):
    """What a change is called."""

    WORSE = "worse"
    BETTER = "better"
    UNKNOWN = "not enough data"
    SAME = "same"


@dataclass(frozen=True)
class CellChange:
    """How a metric of a cell changed from A to B.

    `change` is relative (0.1: 10% more) or, of a metric in points, the difference; None where it is withheld, as where
    a side has fewer than two values. It may have one bound alone: a change that is at least, or at most, so large.
    `before` and `after` are the sides' means. `note` is why there is not enough data, or what else bounded the
    values; `bounded_by` is which of the sides are lower bounds, and by what. `evidence` is what is left of the
    `measured` evidence where a side is a bound. `scatter` is how far two campaigns lie apart though nothing changed,
    which the evidence allows for; None of levels, and without evidence.
    """

    cell: str
    uut_context: str
    metric: Metric
    before: Estimate | None
    after: Estimate | None
    change: Estimate | None
    p_value: float | None
    verdict: ChangeVerdict
    evidence: Change | None
    note: str = ""
    bounded_by: str = ""
    unit: Unit = Unit.REPETITION
    measured: Change | None = None
    scatter: CampaignScatter | None = None
    bound: Bound = Bound.EXACT

    @property
    def paired(self) -> bool:
        """Whether values that were measured side by side are compared, so that n counts pairs."""
        return self.unit is not Unit.REPETITION

    def at(self, confidence: float) -> CellChange:
        """Return it with the interval of another confidence."""
        if self.measured is None:
            return self
        found = estimate(self.measured.interval_at(confidence), 0.0)
        return replace(self, change=found.read_as(self.bound))


def changes(
    a: Mapping[Key, MeasuredCell],
    b: Mapping[Key, MeasuredCell],
    pairs: Sequence[tuple[Key, Key]],
    metrics: Sequence[Metric],
    within: float,
    adaptive: bool,
    unit: Unit = Unit.REPETITION,
    effect: CampaignEffect | None = None,
) -> list[CellChange]:
    """A row for each cell and metric of which either side has a value, in the order of `pairs`.

    Worse or better: the 95% interval lies wholly beyond the tolerance, and so many comparisons at once are allowed
    for (Benjamini and Hochberg 1995, at 5%). Same: the interval lies wholly within it. Else there is not enough data.
    The interval allows for the campaigns' `effect`, where the sides are two campaigns.
    """
    found = [
        (a[one], b[other], metric)
        for one, other in pairs
        for metric in metrics
        if a[one].values_of(metric) or b[other].values_of(metric)
    ]
    scatters = [None if effect is None else effect.scatter(*each) for each in found]
    read = [_reading(*each) for each in found]
    exact = [
        _evidence(*each, reading, adaptive, scatter)
        for each, reading, scatter in zip(found, read, scatters, strict=True)
    ]
    evidence = [_read_as(shift, reading.bound) for shift, reading in zip(exact, read, strict=True)]
    p_values = [
        None if shift is None else shift.p_beyond(*_zone(metric, within))
        for shift, (_, _, metric) in zip(evidence, found, strict=True)
    ]
    rejected = iter(discoveries([p_value for p_value in p_values if p_value is not None]))
    tried = sum(p_value is not None for p_value in p_values)
    rows = []
    for (before, after, metric), reading, unbounded, shift, p_value, scatter in zip(
        found, read, exact, evidence, p_values, scatters, strict=True
    ):
        verdict = _verdict(metric, shift, within, p_value is not None and next(rejected))
        undecided = "" if shift is None else _undecided(shift, _zone(metric, within), scatter, tried)
        rows.append(
            CellChange(
                cell=after.cell,
                uut_context=after.uut_context,
                metric=metric,
                before=before.mean(metric, adaptive=adaptive),
                after=after.mean(metric, adaptive=adaptive),
                change=None if shift is None else _change(unbounded, reading.bound),
                p_value=p_value,
                verdict=verdict,
                evidence=shift,
                note=_note(before, after, metric, reading, shift, verdict, undecided, unit),
                bounded_by=reading.bounded_by,
                unit=unit,
                measured=unbounded,
                scatter=None if shift is None else scatter,
                bound=reading.bound,
            )
        )
    return rows


def _zone(metric: Metric, within: float) -> tuple[float, float]:
    tolerance = within if metric.tolerance is None else metric.tolerance
    return -tolerance, tolerance


@dataclass(frozen=True)
class _Reading:
    """The values that are compared, how their change is read, and what bounded the sides."""

    one: Sequence[float]
    other: Sequence[float]
    bound: Bound
    bounded_by: str


def _reading(before: MeasuredCell, after: MeasuredCell, metric: Metric) -> _Reading:
    """What is compared: of a side between two loads the higher one, where that alone tells it from the other side."""
    one, other = _sides(before, after, metric)
    of_a, of_b = (side.less_than.get(metric.name, ()) for side in (before, after))
    if one and len(of_b) > 1 and fmean(of_b) < fmean(one):
        return _Reading(one, of_b, Bound.AT_MOST, _lost_more("B", of_b))
    if other and len(of_a) > 1 and fmean(of_a) < fmean(other):
        return _Reading(of_a, other, Bound.AT_LEAST, _lost_more("A", of_a))
    limits = [(name, side.limit_of(metric)) for name, side in (("A", before), ("B", after))]
    return _Reading(one, other, after.bound(metric).over(before.bound(metric)), bounded_sides(limits))


def _lost_more(name: str, offered_mbps: Sequence[float]) -> str:
    return f"{name} lost more at {numbers.mbps(fmean(offered_mbps))} Mbit/s"


def _evidence(
    before: MeasuredCell,
    after: MeasuredCell,
    metric: Metric,
    reading: _Reading,
    adaptive: bool,
    campaigns: CampaignScatter | None,
) -> Change | None:
    if _withheld(before, metric) or _withheld(after, metric):
        return None
    change = absolute_change if metric.points else relative_change
    return change(
        reading.one,
        reading.other,
        resolution=_resolution(before, after, metric),
        adaptive=adaptive,
        paired=_is_paired(before, after),
        campaigns=campaigns,
    )


def _is_paired(before: MeasuredCell, after: MeasuredCell) -> bool:
    return bool(before.by_block and after.by_block)


def _sides(
    before: MeasuredCell, after: MeasuredCell, metric: Metric
) -> tuple[Sequence[float], Sequence[float]]:
    """The values that are compared: of pairs those of the blocks that have both, in their order."""
    if not _is_paired(before, after):
        return before.values_of(metric), after.values_of(metric)
    one, other = in_pairs(before.by_block[metric.name], after.by_block[metric.name]).T.tolist()
    return one, other


def _read_as(shift: Change | None, bound: Bound) -> Change | None:
    """Return what is left of the evidence for a change that is read so; None where nothing is."""
    if shift is None or bound is Bound.WITHHELD:
        return None
    if bound is Bound.EXACT:
        return shift
    return shift.at_least() if bound is Bound.AT_LEAST else shift.at_most()


def _resolution(before: MeasuredCell, after: MeasuredCell, metric: Metric) -> float:
    return step_of_change(
        metric,
        [
            (side.step(metric), fmean(values))
            for side in (before, after)
            if (values := side.values_of(metric))
        ],
    )


def _withheld(side: MeasuredCell, metric: Metric) -> bool:
    return bool(side.values_of(metric)) and side.lacks(metric) > 0


def _verdict(metric: Metric, shift: Change | None, within: float, discovered: bool) -> ChangeVerdict:
    if shift is None:
        return ChangeVerdict.UNKNOWN
    (low, high), found = _zone(metric, within), shift.interval
    above, below = found.low is not None and found.low > high, found.high is not None and found.high < low
    if discovered and (above or below):
        return ChangeVerdict.BETTER if above == metric.rises else ChangeVerdict.WORSE
    # Nothing is within a tolerance of zero, not even values that are all equal.
    inside = low < high and found.low is not None and found.low >= low
    return (
        ChangeVerdict.SAME
        if inside and found.high is not None and found.high <= high
        else ChangeVerdict.UNKNOWN
    )


def _note(
    before: MeasuredCell,
    after: MeasuredCell,
    metric: Metric,
    reading: _Reading,
    shift: Change | None,
    verdict: ChangeVerdict,
    undecided: str,
    unit: Unit,
) -> str:
    if verdict is ChangeVerdict.UNKNOWN:
        return _why_unknown(before, after, metric, reading, shift, undecided, unit)
    if late := [
        words for name, side in (("A", before), ("B", after)) if (words := _late(name, side, metric))
    ]:
        return "; ".join(late)
    if metric.name in ("throughput", "goodput"):
        marks = sorted({*before.marks, *after.marks})
        return ", ".join(mark for mark in marks if mark.endswith(("-limited", "-busy", "-unknown")))
    return ""


def _late(name: str, side: MeasuredCell, metric: Metric) -> str:
    """How many repetitions are left out since their source was late; empty where none is."""
    late = side.late.get(metric.name, 0)
    return f"without {late} of {side.blocks} repetitions of {name}, whose source was late" if late else ""


def _why_unknown(
    before: MeasuredCell,
    after: MeasuredCell,
    metric: Metric,
    reading: _Reading,
    shift: Change | None,
    undecided: str,
    unit: Unit,
) -> str:
    for name, side in (("A", before), ("B", after)):
        n = len(side.values_of(metric))
        if _withheld(side, metric):
            return f"{side.lacks(metric)} of {side.blocks} repetitions of {name} have no such quantile"
        if shift is None and n < 2:
            late = _late(name, side, metric)
            return f"n = {n} in {name}" + (f": {late}" if late else "")
    if (pairs := len(reading.one)) < 2:
        return f"{unit}s with a value of both: {pairs}"
    if shift is None:
        return f"withheld: {reading.bounded_by}" if reading.bound is Bound.WITHHELD else "A is zero"
    return "; ".join(filter(None, (undecided, reading.bounded_by))) or "more repetitions needed"


def _undecided(
    shift: Change, zone: tuple[float, float], scatter: CampaignScatter | None, comparisons: int
) -> str:
    """Why the interval does not suffice for a verdict; empty where more repetitions would, or it is a bound."""
    (low, high), found = zone, shift.interval
    if found.low is None and found.high is None:
        return "too few for an interval"
    if (found.low is not None and found.low > high) or (found.high is not None and found.high < low):
        return f"beyond the tolerance, but not significant among {comparisons} comparisons"
    if found.low is None or found.high is None or scatter is None:
        return ""
    # Where no number of repetitions leaves room for the campaigns, these are what is in the way.
    if all(shift.lacking(bound, (1 - CONFIDENCE) / 2) for bound in zone):
        return ""
    return "assumed campaign effect" if scatter.is_assumed else "campaign effect"


def _change(shift: Change | None, bound: Bound) -> Estimate | None:
    return None if shift is None else estimate(shift.interval, 0.0).read_as(bound)
