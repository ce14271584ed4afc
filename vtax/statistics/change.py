"""How far a second set of trials is from a first one, and whether farther than a tolerance.

Two campaigns of the same thing differ by a little from one day to the next, and no interval knows of it. So what
is asked is not whether there is any difference, but whether there is one beyond a tolerance (a minimum-effect
test: Murphy and Myors, Journal of Applied Psychology 84, 1999), or none beyond it (two one-sided tests: Schuirmann,
Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). Changes are shares of the first set's mean, 0.1 for 10%
more, or differences in the values' own unit.

What is not found may still be there: `detectable_below` and `detectable_above` return the smallest change that such
trials would have found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtax.statistics.campaigns import CampaignScatter
from vtax.statistics.evidence import Evidence, evidence_of
from vtax.statistics.interval import CONFIDENCE, Interval, exponential

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change and the evidence for its size.

    `interval` is of the change, its `n` the trials of both sides; `interval_at` is the one at another confidence.
    `chance(bound)` is the p value of a true change equal to `bound`, against one on that side of it where the estimate
    is. `moved(bound, side, p_value)` is the true change, above `bound` for a `side` of 1 and below it for one of -1,
    that 80% of such trials find at that p value. `lacking(bound, p_value)` is how many more values would tell this
    change from `bound`, of both sides together or of pairs; None where no number would.
    """

    interval: Interval
    interval_at: Callable[[float], Interval]
    chance: Callable[[float], float]
    moved: Callable[[float, int, float], float | None]
    lacking: Callable[[float, float], int | None]

    def detectable_above(self, bound: float, p_value: float) -> float | None:
        """Return the smallest true change above `bound` that 80% of such trials find; None where they find none.

        Found: the interval excludes the bound, and the p value is at most `p_value`. The trials' own scatter is taken
        for the true one.
        """
        return self.moved(bound, 1, p_value)

    def detectable_below(self, bound: float, p_value: float) -> float | None:
        """Return the smallest true change below `bound` that 80% of such trials find, as `detectable_above`."""
        return self.moved(bound, -1, p_value)

    def p_above(self, bound: float) -> float:
        """The chance of such values where the true change is `bound` or less; 1 of an estimate that is so itself."""
        return self.chance(bound) if self.interval.mean > bound else 1.0

    def p_below(self, bound: float) -> float:
        """The chance of such values where the true change is `bound` or more; 1 of an estimate that is so itself."""
        return self.chance(bound) if self.interval.mean < bound else 1.0

    def at_least(self) -> Change:
        """Return the evidence for a change that is at least this: none speaks against a larger one."""
        return self._towards(1)

    def at_most(self) -> Change:
        """Return the evidence for a change that is at most this: none speaks against a smaller one."""
        return self._towards(-1)

    def _towards(self, side: int) -> Change:
        interval, chance, moved = self.interval, self.chance, self.moved

        def one_sided(found: Interval) -> Interval:
            low, high = (found.low, None) if side > 0 else (None, found.high)
            return Interval(found.mean, low, high, found.n)

        return Change(
            one_sided(interval),
            lambda confidence: one_sided(self.interval_at(confidence)),
            lambda bound: chance(bound) if (interval.mean - bound) * side > 0 else 1.0,
            lambda bound, towards, p_value: moved(bound, towards, p_value) if towards == side else None,
            lambda bound, p_value: (
                self.lacking(bound, p_value) if (interval.mean - bound) * side > 0 else None
            ),
        )

    def p_beyond(self, low: float, high: float) -> float:
        """The chance of an estimate so far out where the true change lies from `low` to `high`."""
        if self.interval.mean > high:
            return min(1.0, self.p_above(high) + self.p_above(low))
        if self.interval.mean < low:
            return min(1.0, self.p_below(low) + self.p_below(high))
        return 1.0


def relative_change(
    first: Sequence[float],
    second: Sequence[float],
    *,
    resolution: float = 0.0,
    adaptive: bool = False,
    paired: bool = False,
    campaigns: CampaignScatter | None = None,
    confidence: float = CONFIDENCE,
) -> Change | None:
    """Return second / first - 1; None where either has fewer than two values, or all of the first are zero.

    Welch's interval (Biometrika 34, 1947) of the logarithms, so a ratio of geometric means. With a zero among the
    values, which has no logarithm, it is of the values themselves as shares of the first one's mean.
    `resolution` is the width of the steps that values come in, as a share of them: the interval is wider by it.
    `adaptive` takes anytime-valid intervals, for values that decided how many there are. `paired` values were measured
    side by side, the first of one with the first of the other: what both have in common is no scatter, and the
    interval is of the pairs' differences. `campaigns` is how far two campaigns lie apart though nothing changed, where
    the two are campaigns: it is part of the interval. ValueError for values that are negative or not finite, and for
    pairs of which one lacks.
    """
    one, other = _samples(first, second)
    if min(one.min(initial=0), other.min(initial=0)) < 0:
        raise ValueError(f"a ratio needs values of zero or more: {first!r}, {second!r}")
    if min(len(one), len(other)) < 2 or not one.any():
        return None
    if one.all() and other.all():
        evidence = evidence_of(
            np.log(one), np.log(other), resolution, adaptive, paired, campaigns, confidence
        )
        return _change(evidence, confidence, resolution, _expm1, _log1p, -1.0)
    evidence = evidence_of(
        one / one.mean(), other / one.mean(), resolution, adaptive, paired, campaigns, confidence
    )
    return _change(evidence, confidence, resolution, _same, _same, -1.0)


def absolute_change(
    first: Sequence[float],
    second: Sequence[float],
    *,
    resolution: float = 0.0,
    adaptive: bool = False,
    paired: bool = False,
    campaigns: CampaignScatter | None = None,
    confidence: float = CONFIDENCE,
) -> Change | None:
    """Return second - first in their own unit, as `relative_change`; zeros and negative values are as any others."""
    one, other = _samples(first, second)
    if min(len(one), len(other)) < 2:
        return None
    evidence = evidence_of(one, other, resolution, adaptive, paired, campaigns, confidence)
    return _change(evidence, confidence, resolution, _same, _same, -math.inf)


def _change(
    evidence: Evidence,
    confidence: float,
    resolution: float,
    shown: Callable[[float], float],
    scaled: Callable[[float], float],
    least: float,
) -> Change:
    """The change of a difference on a scale that `shown` takes off and `scaled` puts on; none is less than `least`."""
    difference = evidence.difference

    def interval_at(confidence: float) -> Interval:
        reach = evidence.reach(1 - confidence)
        if reach is None:
            return Interval(shown(difference), None, None, evidence.n)
        low, high = shown(difference - reach[0] - resolution), shown(difference + reach[1] + resolution)
        return Interval(shown(difference), low, high, evidence.n)

    def distance_to(bound: float) -> float:
        distance = scaled(bound) - difference
        return math.copysign(max(abs(distance) - resolution, 0.0), distance)

    def moved(bound: float, side: int, p_value: float) -> float | None:
        distance = evidence.detectable(p_value)
        if distance is None:
            return None
        change = shown(scaled(bound) + side * (resolution + distance))
        return change if least <= change < math.inf else None

    def lacking(bound: float, p_value: float) -> int | None:
        times = evidence.times(distance_to(bound), p_value)
        return None if times is None else max(1, math.ceil(evidence.n * (times - 1)))

    return Change(
        interval_at(confidence),
        interval_at,
        lambda bound: evidence.chance(distance_to(bound)),
        moved,
        lacking,
    )


def _samples(first: Sequence[float], second: Sequence[float]) -> tuple[Values, Values]:
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ValueError(f"a change needs finite values: {first!r}, {second!r}")
    return one, other


def _log1p(bound: float) -> float:
    return math.log1p(bound) if bound > -1 else -math.inf


def _expm1(shift: float) -> float:
    return math.expm1(shift) if shift < 1 else exponential(shift) - 1


def _same(value: float) -> float:
    return value
