"""Each cell's change in each metric, and what may be said of it, all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

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
        if a[one].values[metric.name] or b[other].values[metric.name]
    ]
    scatters = [None if effect is None else effect.scatter(*each) for each in found]
    exact = [_evidence(*each, adaptive, scatter) for each, scatter in zip(found, scatters, strict=True)]
    evidence = [
        _read_as(shift, _bound(before, after, metric))
        for shift, (before, after, metric) in zip(exact, found, strict=True)
    ]
    p_values = [
        None if shift is None else shift.p_beyond(*_zone(metric, within))
        for shift, (_, _, metric) in zip(evidence, found, strict=True)
    ]
    rejected = iter(discoveries([p_value for p_value in p_values if p_value is not None]))
    tried = sum(p_value is not None for p_value in p_values)
    rows = []
    for (before, after, metric), unbounded, shift, p_value, scatter in zip(
        found, exact, evidence, p_values, scatters, strict=True
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
                change=None if shift is None else _change(unbounded, _bound(before, after, metric)),
                p_value=p_value,
                verdict=verdict,
                evidence=shift,
                note=_note(before, after, metric, shift, verdict, undecided, unit),
                bounded_by=_bounded_by(before, after, metric),
                unit=unit,
                measured=unbounded,
                scatter=None if shift is None else scatter,
                bound=_bound(before, after, metric),
            )
        )
    return rows


def _zone(metric: Metric, within: float) -> tuple[float, float]:
    tolerance = within if metric.tolerance is None else metric.tolerance
    return -tolerance, tolerance


def _evidence(
    before: MeasuredCell,
    after: MeasuredCell,
    metric: Metric,
    adaptive: bool,
    campaigns: CampaignScatter | None,
) -> Change | None:
    if _withheld(before, metric) or _withheld(after, metric):
        return None
    change = absolute_change if metric.points else relative_change
    return change(
        *_sides(before, after, metric),
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
        return before.values[metric.name], after.values[metric.name]
    one, other = in_pairs(before.by_block[metric.name], after.by_block[metric.name]).T.tolist()
    return one, other


def _bound(before: MeasuredCell, after: MeasuredCell, metric: Metric) -> Bound:
    """How a change is read: a flood that the source or the link bounded is only a lower bound of its side."""
    return after.bound(metric).over(before.bound(metric))


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
            if (values := side.values[metric.name])
        ],
    )


def _withheld(side: MeasuredCell, metric: Metric) -> bool:
    return bool(side.values[metric.name]) and side.lacks(metric) > 0


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
    shift: Change | None,
    verdict: ChangeVerdict,
    undecided: str,
    unit: Unit,
) -> str:
    if verdict is ChangeVerdict.UNKNOWN:
        return _why_unknown(before, after, metric, shift, undecided, unit)
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
    shift: Change | None,
    undecided: str,
    unit: Unit,
) -> str:
    for name, side in (("A", before), ("B", after)):
        n = len(side.values[metric.name])
        if _withheld(side, metric):
            return f"{side.lacks(metric)} of {side.blocks} repetitions of {name} have no such quantile"
        if n < 2:
            late = _late(name, side, metric)
            return f"n = {n} in {name}" + (f": {late}" if late else "")
    if (pairs := len(_sides(before, after, metric)[0])) < 2:
        return f"{unit}s with a value of both: {pairs}"
    bounded = _bounded_by(before, after, metric)
    if shift is None:
        return f"withheld: {bounded}" if _bound(before, after, metric) is Bound.WITHHELD else "A is zero"
    return "; ".join(filter(None, (undecided, bounded))) or "more repetitions needed"


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


def _bounded_by(before: MeasuredCell, after: MeasuredCell, metric: Metric) -> str:
    return bounded_sides((name, side.limit_of(metric)) for name, side in (("A", before), ("B", after)))


def _change(shift: Change | None, bound: Bound) -> Estimate | None:
    return None if shift is None else estimate(shift.interval, 0.0).read_as(bound)
