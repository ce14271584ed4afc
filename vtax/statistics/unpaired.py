"""Comparing two sets of trials that share no blocks, and many such comparisons at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.interval import CONFIDENCE, Interval, exponential

FALSE_DISCOVERY_RATE: Final = 0.05

Sample = NDArray[np.float64]
Number = TypeVar("Number", float, NDArray[np.float64])


@dataclass(frozen=True)
class Comparison:
    """How two sets of trials differ.

    `ratio` is the first one's mean over the second one's, its `n` the trials of both. `p_value` is the chance of
    a difference at least so large where there is none.
    """

    ratio: Interval
    p_value: float


def compare(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Comparison:
    """Compare two sets of independent trials of a cell, one value a trial, that may vary differently.

    Welch's t test and interval (Biometrika 34, 1947) of the logarithms, transformed back: the ratio of the
    geometric means, whose inverse is that of the sides swapped. Zeros have no logarithm: with one among the
    values, the test is of the values as they are, and the ratio, of the arithmetic means, has no bounds.

    Values that do not vary at all, as delays within one histogram bucket, show a difference but not how
    large chance makes it: the ratio has no bounds, and `p_value` is that of the exact permutation test, which
    takes nothing but the order. ValueError for fewer than two values a side, for values that are negative or
    not finite, and where all of b are zero.
    """
    both = np.asarray([*a, *b], dtype=float)
    if min(len(a), len(b)) < 2 or not np.isfinite(both).all() or (both < 0).any():
        raise ValueError(
            f"a comparison needs two values or more a side, finite and not negative: {a!r}, {b!r}"
        )
    if not any(b):
        raise ValueError("no ratio has a reference of zero")
    positive = bool((both > 0).all())
    scaled = np.log(both) if positive else both
    first, second = scaled[: len(a)], scaled[len(a) :]
    varies = np.ptp(first) > 0 or np.ptp(second) > 0
    difference = first.mean() - second.mean() if varies else first[0] - second[0]
    ratio = math.exp(difference) if positive else float(np.mean(a) / np.mean(b))
    without_bounds = Interval(ratio, None, None, len(both))
    if not varies:
        p_value = 2 / math.comb(len(both), len(a)) if difference else 1.0
        return Comparison(without_bounds, min(p_value, 1.0))
    error, freedom = welch(first, second)
    p_value = float(2 * scipy.special.stdtr(freedom, -abs(difference) / error))
    if not positive:
        return Comparison(without_bounds, p_value)
    half_width = float(scipy.special.stdtrit(freedom, (1 + confidence) / 2)) * error
    interval = Interval(
        ratio, math.exp(difference - half_width), exponential(difference + half_width), len(both)
    )
    return Comparison(interval, p_value)


def welch(first: Sample, second: Sample) -> tuple[float, float]:
    """Standard error of the means' difference and its degrees of freedom, in a tenth of the library's time."""
    shares = [float(side.var(ddof=1)) / len(side) for side in (first, second)]
    return math.sqrt(sum(shares)), welch_freedom(shares[0], shares[1], len(first), len(second))


def welch_freedom(first: Number, second: Number, n_first: int, n_second: int) -> Number:
    """Return the degrees of freedom of a difference of means with these variances of the means (Welch 1947)."""
    return (first + second) ** 2 / (first**2 / (n_first - 1) + second**2 / (n_second - 1))


def discoveries(p_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE) -> list[bool]:
    """Return which of many comparisons found a difference, at most a share `rate` of them wrongly on average.

    Benjamini and Hochberg (Journal of the Royal Statistical Society B 57, 1995), for comparisons that are
    independent or depend on each other positively, as those against one reference do. Where nothing differs,
    any discovery at all comes with probability `rate`.
    """
    if not p_values:
        return []
    return [bool(adjusted <= rate) for adjusted in scipy.stats.false_discovery_control(p_values, method="bh")]


def discovery_level(found: int, comparisons: int, rate: float = FALSE_DISCOVERY_RATE) -> float:
    """Return the p value at which one more of `comparisons` is a discovery where `found` already are."""
    return rate * (found + 1) / comparisons
