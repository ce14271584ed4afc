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
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.anytime import anytime_interval
from vtax.statistics.interval import CONFIDENCE, Interval, exponential
from vtax.statistics.power import detectable_distance, scatter_ratios
from vtax.statistics.unpaired import welch, welch_freedom

_HALVINGS: Final = 40

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change and the evidence for its size.

    `interval` is of the change, its `n` the trials of both sides. `chance(bound)` is the p value of a true change
    equal to `bound`, against one on that side of it where the estimate is. `moved(bound, side, p_value)` is the true
    change, above `bound` for a `side` of 1 and below it for one of -1, that 80% of such trials find at that p value.
    """

    interval: Interval
    chance: Callable[[float], float]
    moved: Callable[[float, int, float], float | None]

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
        low, high = (interval.low, None) if side > 0 else (None, interval.high)
        return Change(
            Interval(interval.mean, low, high, interval.n),
            lambda bound: chance(bound) if (interval.mean - bound) * side > 0 else 1.0,
            lambda bound, towards, p_value: moved(bound, towards, p_value) if towards == side else None,
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
    confidence: float = CONFIDENCE,
) -> Change | None:
    """Return second / first - 1; None where either has fewer than two values, or all of the first are zero.

    Welch's interval (Biometrika 34, 1947) of the logarithms, so a ratio of geometric means. With a zero among the
    values, which has no logarithm, it is of the values themselves as shares of the first one's mean.
    `resolution` is the width of the steps that values come in, as a share of them: the interval is wider by it.
    `adaptive` takes anytime-valid intervals, for values that decided how many there are. ValueError for values
    that are negative or not finite.
    """
    one, other = _samples(first, second)
    if min(one.min(initial=0), other.min(initial=0)) < 0:
        raise ValueError(f"a ratio needs values of zero or more: {first!r}, {second!r}")
    if min(len(one), len(other)) < 2 or not one.any():
        return None
    if one.all() and other.all():
        return _change(np.log(one), np.log(other), resolution, adaptive, confidence, _expm1, _log1p, -1.0)
    scaled = one / one.mean(), other / one.mean()
    return _change(*scaled, resolution, adaptive, confidence, _same, _same, -1.0)


def absolute_change(
    first: Sequence[float],
    second: Sequence[float],
    *,
    resolution: float = 0.0,
    adaptive: bool = False,
    confidence: float = CONFIDENCE,
) -> Change | None:
    """Return second - first in their own unit, as `relative_change`; zeros and negative values are as any others."""
    one, other = _samples(first, second)
    if min(len(one), len(other)) < 2:
        return None
    return _change(one, other, resolution, adaptive, confidence, _same, _same, -math.inf)


def _change(
    one: Values,
    other: Values,
    resolution: float,
    adaptive: bool,
    confidence: float,
    shown: Callable[[float], float],
    scaled: Callable[[float], float],
    least: float,
) -> Change:
    """The change of samples on a scale that `shown` takes off and `scaled` puts on; none is less than `least`."""
    difference = float(other.mean() - one.mean())
    if adaptive:
        evidence = _anytime(one, other, confidence)
    elif np.ptp(one) or np.ptp(other):
        evidence = _welch(one, other, confidence)
    else:
        evidence = _constant(one, other, resolution)
    n, reach = len(one) + len(other), evidence.reach
    low, high = (
        (None, None)
        if reach is None
        else (shown(difference - reach - resolution), shown(difference + reach + resolution))
    )

    def chance_of(bound: float) -> float:
        return evidence.chance(max(abs(difference - scaled(bound)) - resolution, 0.0))

    def moved(bound: float, side: int, p_value: float) -> float | None:
        distance = evidence.detectable(p_value)
        if distance is None:
            return None
        change = shown(scaled(bound) + side * (resolution + distance))
        return change if least <= change < math.inf else None

    return Change(Interval(shown(difference), low, high, n), chance_of, moved)


@dataclass(frozen=True)
class _Evidence:
    """How sure a difference is, as distances on its scale.

    `reach` is the interval's half width, None without one. `chance` is the one-sided p value of an estimate so far
    from a bound. `detectable` is how far the truth must lie from a bound for 80% of such trials to exclude it from the
    interval at that p value, None where no distance does.
    """

    reach: float | None
    chance: Callable[[float], float]
    detectable: Callable[[float], float | None]


def _welch(one: Values, other: Values, confidence: float) -> _Evidence:
    error, freedom = welch(one, other)
    reach = float(scipy.special.stdtrit(freedom, (1 + confidence) / 2)) * error

    def detectable(p_value: float) -> float:
        shares = [side.var(ddof=1) / len(side) * scatter_ratios(len(side)) for side in (one, other)]
        first, second = (share.ravel() for share in np.meshgrid(*shares))
        quantile = 1 - min(p_value, (1 - confidence) / 2)
        freedoms = welch_freedom(first, second, len(one), len(other))
        return detectable_distance(scipy.special.stdtrit(freedoms, quantile) * np.sqrt(first + second), error)

    return _Evidence(
        reach, lambda distance: float(scipy.special.stdtr(freedom, -distance / error)), detectable
    )


def _constant(one: Values, other: Values, resolution: float) -> _Evidence:
    """Values that do not vary: as for a mean, no width beyond their steps.

    The p value is Student's of values that lie anywhere in a step, or, where nothing tells how wide one is, the exact
    permutation test's.
    """
    if not resolution:
        smallest = 1 / math.comb(len(one) + len(other), len(one))
        return _Evidence(
            0.0,
            lambda distance: smallest if distance > 0 else 0.5,
            lambda p_value: 0.0 if smallest <= p_value else None,
        )
    error = resolution * math.sqrt((1 / len(one) + 1 / len(other)) / 12)
    freedom = len(one) + len(other) - 2
    return _Evidence(
        0.0,
        lambda distance: float(scipy.special.stdtr(freedom, -distance / error)),
        lambda p_value: detectable_distance(scipy.special.stdtrit(freedom, [1 - p_value]) * error, error),
    )


def _anytime(one: Values, other: Values, confidence: float) -> _Evidence:
    """Each side's confidence sequence, which miss half each; the p value is the least miss that excludes a bound."""

    def halves(miss: float) -> tuple[float, float] | None:
        found = [anytime_interval(side.tolist(), 1 - miss / 2) for side in (one, other)]
        first, second = (None if at.high is None else at.high - at.mean for at in found)
        return None if first is None or second is None else (first, second)

    def reach(miss: float) -> float | None:
        found = halves(miss)
        return None if found is None else sum(found)

    def chance(distance: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            at = reach(middle)
            low, high = (middle, high) if at is None or at >= distance else (low, middle)
        return high

    def detectable(p_value: float) -> float | None:
        found = halves(min(p_value, 1 - confidence))
        if found is None:
            return None
        first, second = (
            half * np.sqrt(scatter_ratios(len(side))) for half, side in zip(found, (one, other), strict=True)
        )
        error = math.hypot(*(float(side.std(ddof=1)) / math.sqrt(len(side)) for side in (one, other)))
        return detectable_distance(np.add.outer(first, second).ravel(), error)

    return _Evidence(reach(1 - confidence), chance, detectable)


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
