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

from vtax.statistics.anytime import anytime_chance, anytime_interval
from vtax.statistics.campaigns import CampaignScatter
from vtax.statistics.interval import CONFIDENCE, Interval, exponential
from vtax.statistics.power import MOST_TIMES, detectable_distance, scatter_ratios, times_as_many
from vtax.statistics.unpaired import welch, welch_freedom

_HALVINGS: Final = 40

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
        evidence = _evidence(np.log(one), np.log(other), resolution, adaptive, paired, campaigns, confidence)
        return _change(evidence, confidence, resolution, _expm1, _log1p, -1.0)
    evidence = _evidence(
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
    evidence = _evidence(one, other, resolution, adaptive, paired, campaigns, confidence)
    return _change(evidence, confidence, resolution, _same, _same, -math.inf)


def _change(
    evidence: _Evidence,
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
        low, high = shown(difference - reach - resolution), shown(difference + reach + resolution)
        return Interval(shown(difference), low, high, evidence.n)

    def chance_of(bound: float) -> float:
        return evidence.chance(max(abs(difference - scaled(bound)) - resolution, 0.0))

    def moved(bound: float, side: int, p_value: float) -> float | None:
        distance = evidence.detectable(p_value)
        if distance is None:
            return None
        change = shown(scaled(bound) + side * (resolution + distance))
        return change if least <= change < math.inf else None

    def lacking(bound: float, p_value: float) -> int | None:
        times = evidence.times(abs(difference - scaled(bound)) - resolution, p_value)
        return None if times is None else max(1, math.ceil(evidence.n * (times - 1)))

    return Change(interval_at(confidence), interval_at, chance_of, moved, lacking)


@dataclass(frozen=True)
class _Evidence:
    """A difference, and how sure it is, as distances on its scale.

    `n` counts the values of both sides, or the pairs. `reach` is the half width of the interval that misses with a
    chance, None without one. `chance` is the one-sided p value of an estimate so far from a bound. `detectable` is how
    far the truth must lie from a bound for 80% of such trials to exclude it from the interval at that p value, None
    where no distance does. `times` is how many times as many values would tell the difference from a bound so far away,
    None where no number would.
    """

    difference: float
    n: int
    reach: Callable[[float], float | None]
    chance: Callable[[float], float]
    detectable: Callable[[float], float | None]
    times: Callable[[float, float], float | None]


def _evidence(
    one: Values,
    other: Values,
    resolution: float,
    adaptive: bool,
    paired: bool,
    campaigns: CampaignScatter | None,
    confidence: float,
) -> _Evidence:
    """How far the second set is from the first; of pairs, how far their differences are from zero."""
    sides = (_differences(one, other),) if paired else (one, other)
    values = _of_values(one, other, sides, resolution, adaptive, confidence)
    return values if campaigns is None else _of_campaigns(values, campaigns, adaptive, confidence)


def _of_values(
    one: Values, other: Values, sides: Sequence[Values], resolution: float, adaptive: bool, confidence: float
) -> _Evidence:
    difference = float(other.mean() - one.mean())
    if adaptive:
        return _anytime(difference, sides, confidence)
    if not any(np.ptp(side) for side in sides):
        return _constant(difference, sides, resolution)
    if len(sides) == 1:
        return _paired(difference, sides[0], confidence)
    return _welch(difference, one, other, confidence)


def _of_campaigns(
    values: _Evidence, campaigns: CampaignScatter, adaptive: bool, confidence: float
) -> _Evidence:
    """The evidence of values, in two campaigns that lie so far apart though nothing changed."""

    def reach(miss: float) -> float | None:
        own = values.reach(miss)
        return None if own is None else campaigns.reach(miss / 2, own)

    def own_reach(p_value: float) -> float | None:
        # An anytime-valid p value is what both ends of an interval miss together.
        return values.reach(p_value if adaptive else 2 * p_value)

    def chance(distance: float) -> float:
        return max(values.chance(distance), campaigns.chance(distance, own_reach))

    def detectable(p_value: float) -> float | None:
        own = values.detectable(p_value)
        return None if own is None else campaigns.detectable(min(p_value, (1 - confidence) / 2), own)

    return _Evidence(
        values.difference,
        values.n,
        reach,
        chance,
        detectable,
        lambda room, p_value: campaigns.times(
            room, min(p_value, (1 - confidence) / 2), lambda left: values.times(left, p_value)
        ),
    )


def _differences(one: Values, other: Values) -> Values:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} and {len(other)} values are no pairs")
    return other - one


def _paired(difference: float, differences: Values, confidence: float) -> _Evidence:
    n = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(n)

    def detectable(p_value: float) -> float:
        quantile = scipy.special.stdtrit(n - 1, 1 - min(p_value, (1 - confidence) / 2))
        return detectable_distance(quantile * error * np.sqrt(scatter_ratios(n)), error)

    return _Evidence(
        difference,
        n,
        lambda miss: float(scipy.special.stdtrit(n - 1, 1 - miss / 2)) * error,
        lambda distance: float(scipy.special.stdtr(n - 1, -distance / error)),
        detectable,
        lambda room, p_value: times_as_many(room, error, n - 1, min(p_value, (1 - confidence) / 2)),
    )


def _welch(difference: float, one: Values, other: Values, confidence: float) -> _Evidence:
    error, freedom = welch(one, other)

    def detectable(p_value: float) -> float:
        shares = [side.var(ddof=1) / len(side) * scatter_ratios(len(side)) for side in (one, other)]
        first, second = (share.ravel() for share in np.meshgrid(*shares))
        quantile = 1 - min(p_value, (1 - confidence) / 2)
        freedoms = welch_freedom(first, second, len(one), len(other))
        return detectable_distance(scipy.special.stdtrit(freedoms, quantile) * np.sqrt(first + second), error)

    return _Evidence(
        difference,
        len(one) + len(other),
        lambda miss: float(scipy.special.stdtrit(freedom, 1 - miss / 2)) * error,
        lambda distance: float(scipy.special.stdtr(freedom, -distance / error)),
        detectable,
        lambda room, p_value: times_as_many(room, error, freedom, min(p_value, (1 - confidence) / 2)),
    )


def _constant(difference: float, sides: Sequence[Values], resolution: float) -> _Evidence:
    """Values, or pairs' differences, that do not vary: as for a mean, no width beyond their steps.

    The p value is Student's of values that lie anywhere in a step, or, where nothing tells how wide one is, the exact
    permutation test's.
    """
    n, paired = sum(map(len, sides)), len(sides) == 1
    if not resolution:
        smallest = 0.5**n if paired else 1 / math.comb(n, len(sides[0]))
        return _Evidence(
            difference,
            n,
            lambda miss: 0.0,
            lambda distance: smallest if distance > 0 else 0.5,
            lambda p_value: 0.0 if smallest <= p_value else None,
            lambda room, p_value: None,
        )
    # A step's variance is its square over 12; a pair's difference has two of them.
    error = resolution * math.sqrt((2 / n if paired else sum(1 / len(side) for side in sides)) / 12)
    freedom = n - len(sides)
    return _Evidence(
        difference,
        n,
        lambda miss: 0.0,
        lambda distance: float(scipy.special.stdtr(freedom, -distance / error)),
        lambda p_value: detectable_distance(scipy.special.stdtrit(freedom, [1 - p_value]) * error, error),
        lambda room, p_value: times_as_many(room, error, freedom, p_value),
    )


def _anytime(difference: float, sides: Sequence[Values], confidence: float) -> _Evidence:
    """Each side's confidence sequence, which miss half each, or that of the pairs' differences.

    The p value is the least miss that excludes a bound.
    """

    def halves(miss: float) -> list[float] | None:
        found = [anytime_interval(side.tolist(), 1 - miss / len(sides)) for side in sides]
        known = [at.high - at.mean for at in found if at.high is not None]
        return known if len(known) == len(sides) else None

    def reach(miss: float) -> float | None:
        found = halves(miss)
        return None if found is None else sum(found)

    def chance(distance: float) -> float:
        if len(sides) == 1:
            return _chance(sides[0], distance)
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
        critical = np.zeros(1)
        for half, side in zip(found, sides, strict=True):
            critical = np.add.outer(critical, half * np.sqrt(scatter_ratios(len(side)))).ravel()
        error = math.hypot(*(float(side.std(ddof=1)) / math.sqrt(len(side)) for side in sides))
        return detectable_distance(critical, error)

    def times(room: float, p_value: float) -> float | None:
        """As of intervals that become narrower with the root of the values' number."""
        distance = detectable(p_value)
        found = None if distance is None or room <= 0 else (distance / room) ** 2
        return found if found is not None and found <= MOST_TIMES else None

    return _Evidence(difference, sum(map(len, sides)), reach, chance, detectable, times)


def _chance(differences: Values, distance: float) -> float:
    deviation = float(differences.std(ddof=1)) if np.ptp(differences) else 0.0
    deviations = distance / deviation if deviation else math.copysign(math.inf, distance) if distance else 0.0
    return float(anytime_chance(len(differences), np.asarray(deviations)))


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
