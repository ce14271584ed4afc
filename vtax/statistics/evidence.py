"""How sure a difference of two sets of values is: of independent ones, of pairs, of values that decided their number.

A difference is on the scale of the values that are given, mostly logarithms; `vtax.statistics.change` turns it into a
change that is shown.
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
from vtax.statistics.campaigns import CampaignScatter
from vtax.statistics.centre import centre_chance, centre_distance, centre_interval
from vtax.statistics.power import MOST_TIMES, detectable_distance, scatter_ratios, times_as_many
from vtax.statistics.unpaired import welch, welch_freedom

_HALVINGS: Final = 40

Values = NDArray[np.float64]
Reach = tuple[float, float]


@dataclass(frozen=True)
class Evidence:
    """A difference, and how sure it is, as distances on its scale.

    `n` counts the values of both sides, or the pairs. `reach` is how far the interval that misses with a chance goes
    below and above the difference, None without one. `chance` is the one-sided p value of a bound so far above the
    difference or, of a distance of less than nothing, below it. `detectable` is how
    far the truth must lie from a bound for 80% of such trials to exclude it from the interval at that p value, None
    where no distance does. `times` is how many times as many values would tell the difference from a bound so far above
    or below, None where no number would.
    """

    difference: float
    n: int
    reach: Callable[[float], Reach | None]
    chance: Callable[[float], float]
    detectable: Callable[[float], float | None]
    times: Callable[[float, float], float | None]


def evidence_of(
    one: Values,
    other: Values,
    resolution: float,
    adaptive: bool,
    paired: bool,
    campaigns: CampaignScatter | None,
    confidence: float,
) -> Evidence:
    """How far the second set is from the first; of pairs, how far their differences are from zero."""
    sides = (_differences(one, other),) if paired else (one, other)
    values = _of_values(one, other, sides, resolution, adaptive, confidence)
    return values if campaigns is None else _of_campaigns(values, campaigns, adaptive, confidence)


def _of_values(
    one: Values, other: Values, sides: Sequence[Values], resolution: float, adaptive: bool, confidence: float
) -> Evidence:
    difference = float(other.mean() - one.mean())
    if adaptive and len(sides) == 1:
        return _of_pairs_at_any_number(sides[0], confidence)
    if adaptive:
        return _of_sides_at_any_number(difference, (one, other), confidence)
    if not any(np.ptp(side) for side in sides):
        return _constant(difference, sides, resolution)
    if len(sides) == 1:
        return _paired(difference, sides[0], confidence)
    return _welch(difference, one, other, confidence)


def _of_campaigns(
    values: Evidence, campaigns: CampaignScatter, adaptive: bool, confidence: float
) -> Evidence:
    """The evidence of values, in two campaigns that lie so far apart though nothing changed."""

    def reach(miss: float) -> Reach | None:
        own = values.reach(miss)
        return None if own is None else _either_side(campaigns.reach(miss / 2, max(own)))

    def own_reach(p_value: float) -> float | None:
        # An anytime-valid p value is what both ends of an interval miss together.
        own = values.reach(p_value if adaptive else 2 * p_value)
        return None if own is None else max(own)

    def chance(distance: float) -> float:
        return max(values.chance(distance), campaigns.chance(abs(distance), own_reach))

    def detectable(p_value: float) -> float | None:
        own = values.detectable(p_value)
        return None if own is None else campaigns.detectable(min(p_value, (1 - confidence) / 2), own)

    return Evidence(
        values.difference,
        values.n,
        reach,
        chance,
        detectable,
        lambda distance, p_value: campaigns.times(
            abs(distance), min(p_value, (1 - confidence) / 2), lambda left: values.times(left, p_value)
        ),
    )


def _either_side(distance: float) -> Reach:
    return distance, distance


def _differences(one: Values, other: Values) -> Values:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} and {len(other)} values are no pairs")
    return other - one


def _paired(difference: float, differences: Values, confidence: float) -> Evidence:
    n = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(n)

    def detectable(p_value: float) -> float:
        quantile = scipy.special.stdtrit(n - 1, 1 - min(p_value, (1 - confidence) / 2))
        return detectable_distance(quantile * error * np.sqrt(scatter_ratios(n)), error)

    return Evidence(
        difference,
        n,
        lambda miss: _either_side(float(scipy.special.stdtrit(n - 1, 1 - miss / 2)) * error),
        lambda distance: float(scipy.special.stdtr(n - 1, -abs(distance) / error)),
        detectable,
        lambda distance, p_value: times_as_many(
            abs(distance), error, n - 1, min(p_value, (1 - confidence) / 2)
        ),
    )


def _welch(difference: float, one: Values, other: Values, confidence: float) -> Evidence:
    error, freedom = welch(one, other)

    def detectable(p_value: float) -> float:
        shares = [side.var(ddof=1) / len(side) * scatter_ratios(len(side)) for side in (one, other)]
        first, second = (share.ravel() for share in np.meshgrid(*shares))
        quantile = 1 - min(p_value, (1 - confidence) / 2)
        freedoms = welch_freedom(first, second, len(one), len(other))
        return detectable_distance(scipy.special.stdtrit(freedoms, quantile) * np.sqrt(first + second), error)

    return Evidence(
        difference,
        len(one) + len(other),
        lambda miss: _either_side(float(scipy.special.stdtrit(freedom, 1 - miss / 2)) * error),
        lambda distance: float(scipy.special.stdtr(freedom, -abs(distance) / error)),
        detectable,
        lambda distance, p_value: times_as_many(
            abs(distance), error, freedom, min(p_value, (1 - confidence) / 2)
        ),
    )


def _constant(difference: float, sides: Sequence[Values], resolution: float) -> Evidence:
    """Values, or pairs' differences, that do not vary: as for a mean, no width beyond their steps.

    The p value is Student's of values that lie anywhere in a step, or, where nothing tells how wide one is, the exact
    permutation test's.
    """
    n, paired = sum(map(len, sides)), len(sides) == 1
    if not resolution:
        smallest = 0.5**n if paired else 1 / math.comb(n, len(sides[0]))
        return Evidence(
            difference,
            n,
            lambda miss: _either_side(0.0),
            lambda distance: smallest if distance else 0.5,
            lambda p_value: 0.0 if smallest <= p_value else None,
            lambda distance, p_value: None,
        )
    # A step's variance is its square over 12; a pair's difference has two of them.
    error = resolution * math.sqrt((2 / n if paired else sum(1 / len(side) for side in sides)) / 12)
    freedom = n - len(sides)
    return Evidence(
        difference,
        n,
        lambda miss: _either_side(0.0),
        lambda distance: float(scipy.special.stdtr(freedom, -abs(distance) / error)),
        lambda p_value: detectable_distance(scipy.special.stdtrit(freedom, [1 - p_value]) * error, error),
        lambda distance, p_value: times_as_many(abs(distance), error, freedom, p_value),
    )


def _of_pairs_at_any_number(differences: Values, confidence: float) -> Evidence:
    """A t-test's and a sign test's evidence together, so that pairs which stand apart do not hide the others.

    What is detectable is so by the deviation of all pairs, of those that stand apart too.
    """
    n, difference, median = len(differences), float(differences.mean()), float(np.median(differences))

    def reach(miss: float) -> Reach | None:
        found = centre_interval(differences, miss)
        return None if found is None else (difference - found[0], found[1] - difference)

    def detectable(p_value: float) -> float | None:
        distance = centre_distance(n, min(p_value, 1 - confidence))
        return None if distance is None else distance * float(differences.std(ddof=1))

    def times(distance: float, p_value: float) -> float | None:
        # No number of pairs excludes what lies between their mean and their median.
        within = math.copysign(1, distance) * (median - difference - distance) >= 0
        return None if within and distance else _times(distance, detectable(p_value))

    return Evidence(
        difference,
        n,
        reach,
        lambda distance: float(centre_chance(differences, difference + distance)) if distance else 1.0,
        detectable,
        times,
    )


def _of_sides_at_any_number(difference: float, sides: tuple[Values, Values], confidence: float) -> Evidence:
    """Each side's confidence sequence, which miss half each. The p value is the least miss that excludes a bound."""

    def halves(miss: float) -> list[float] | None:
        found = [anytime_interval(side.tolist(), 1 - miss / 2) for side in sides]
        known = [at.high - at.mean for at in found if at.high is not None]
        return known if len(known) == len(sides) else None

    def reach(miss: float) -> Reach | None:
        found = halves(miss)
        return None if found is None else _either_side(sum(found))

    def chance(distance: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            at = halves(middle)
            low, high = (middle, high) if at is None or sum(at) >= abs(distance) else (low, middle)
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

    return Evidence(
        difference,
        sum(map(len, sides)),
        reach,
        chance,
        detectable,
        lambda distance, p_value: _times(distance, detectable(p_value)),
    )


def _times(distance: float, detectable: float | None) -> float | None:
    """As of intervals that become narrower with the root of the values' number."""
    found = None if detectable is None or not distance else (detectable / distance) ** 2
    return found if found is not None and found <= MOST_TIMES else None
