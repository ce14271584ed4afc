"""Values that stand apart from the most: trials that collapse, and platforms with two modes.

A mean of such values is none of them, and its interval holds for nothing that a trial shows. Where some stand apart the
median takes the mean's place, with an interval between two of the values, which holds however they are distributed.
Fewer than six values have no such interval of 95%: with their mean all of them are kept, for whoever shows it.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
import scipy

from vtax.statistics.interval import CONFIDENCE, Centre, Interval, MeanInterval, Values, mean_interval

LEAST_OF_MEDIAN: Final = 6
"""Values that the interval of a median takes at 95%: all of five lie on one side of it in one sample of 16."""

_DEVIATIONS: Final = {3: 94.0, 4: 17.0, 5: 15.0, 6: 8.0, 7: 8.0, 8: 5.5, 9: 5.5, 10: 4.3, 11: 4.3}
_DEVIATIONS_OF_MORE: Final = 4.0
"""Standard deviations of the others that lie between them and what stands apart, by the number of all values.

Of normal values some seem to in 2.5% of samples of three to eleven, and in fewer of larger ones; by simulation.
"""

Rank = Callable[[Values, float], int]
"""The rank, from either end, of the value that ends a median's interval at a confidence; 0 where none does."""


def standing_apart(values: Values, step: float = 0.0) -> int:
    """Return how many of `values` stand apart from the most; 0 where none do, or of fewer than three values.

    The most are the smallest group, half of all or more, that no other value comes near: they are farther from it than
    so many of its standard deviations, or of a `step`, within which values may differ though nothing does. Of two
    halves the wider one counts. Where no step is known, equal values are no group.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n, half = len(ordered), (len(ordered) + 1) // 2
    if n < 3:
        return 0
    wanted = _DEVIATIONS.get(n, _DEVIATIONS_OF_MORE)
    gaps = np.concatenate([[math.inf], np.diff(ordered), [math.inf]])
    # A group scatters no less than those of its values that are half of all do, but for its size.
    least = float(np.lib.stride_tricks.sliding_window_view(ordered, half).std(axis=1).min())
    ends = np.flatnonzero(gaps > wanted * max(math.sqrt(half / n) * least, step)).tolist()
    groups = sorted(
        (last - first, first, last) for first in ends for last in ends if half <= last - first < n
    )
    for size, first, last in groups:
        deviation = float(ordered[first:last].std(ddof=1))
        if 2 * size == n:
            if first > 0 and last < n:
                continue
            deviation = max(float(each.std(ddof=1)) for each in (ordered[:size], ordered[size:]))
        if max(deviation, step) > 0 and min(gaps[first], gaps[last]) > wanted * max(deviation, step):
            return n - size
    return 0


def typical_interval(values: Values, confidence: float = CONFIDENCE, step: float = 0.0) -> Interval:
    """Return the mean with its Student interval; where some values stand apart, of six or more the median with its own.

    `step` is as `standing_apart` takes it. ValueError for no values or one not finite.
    """
    return around_most(values, confidence, step, mean_interval, median_rank)


def total_interval(values: Values, confidence: float = CONFIDENCE, step: float = 0.0) -> Interval:
    """Return the mean with its Student interval, whatever stands apart.

    Of what adds up, as losses and CPU time do: what happens in few trials is part of the whole.
    """
    return around_most(values, confidence, step, mean_interval, None)


def around_most(
    values: Values, confidence: float, step: float, mean: MeanInterval, rank: Rank | None
) -> Interval:
    """Return the mean's interval; where values stand apart, of six or more that of the median, which `rank` ends.

    The median has no bounds where `rank` has none at that confidence. Without `rank` the mean is kept.
    """
    found = mean(values, confidence)
    apart = standing_apart(values, step)
    if not apart:
        return found
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    if n < LEAST_OF_MEDIAN:
        return replace(found, apart=apart, points=tuple(ordered.tolist()))
    if rank is None:
        return replace(found, apart=apart)
    at = rank(values, confidence)
    low, high = ordered[[at - 1, n - at]].tolist() if at else (None, None)
    return Interval(float(np.median(ordered)), low, high, n, Centre.MEDIAN, apart)


def median_rank(values: Values, confidence: float) -> int:
    """Return the rank, from either end, of the value that ends the median's interval of independent values.

    So many values lie on one side of a median as of fair coins show heads (David and Nagaraja, Order Statistics, 3rd
    edition, 2003, 7.1). 0 where there are too few values for any.
    """
    return _rank(len(values), (1 - confidence) / 2)


@lru_cache(maxsize=1024)
def _rank(n: int, miss: float) -> int:
    return int(scipy.stats.binom.ppf(miss, n, 0.5))
