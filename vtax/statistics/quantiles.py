"""Quantiles of delay, with intervals over repetitions.

The samples of a repetition are not independent of each other, so a repetition is what is sampled: the interval
is that of the quantile of a typical repetition, from one quantile each. A quantile q is taken only of at least
10 / (1 - q) packets, so that ten or more lie beyond it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vtax.statistics.apart import typical_interval
from vtax.statistics.distributions import Distribution, Distributions, samples_needed
from vtax.statistics.interval import CONFIDENCE, Interval, RepeatedInterval

BUCKETS_AN_OCTAVE: Final = 128
"""The sink files delays by that many buckets to each power of two, and gives their middles."""


def quantile_interval(
    repetitions: Distributions | Sequence[Distribution],
    q: float,
    confidence: float = CONFIDENCE,
    repeated: RepeatedInterval = typical_interval,
) -> Interval | None:
    """Return quantile q of a typical repetition: the geometric mean of each one's, with its interval.

    The interval of the logarithms, `typical_interval`'s unless told, transformed back. Student's holds where the
    logarithms of the repetitions' quantiles are about normal, however few they are. Within a repetition the quantile
    lies between the two values around rank q (packets + 1/3) + 1/3, whose median is the quantile about exactly,
    whatever the distribution (type 8 of Hyndman and Fan, The American Statistician 50, 1996): a bias of one
    repetition is that of all, and many would make an interval narrow that is beside the truth. The values of
    a bucket are spread evenly over it. A bucket that holds most of a repetition hides how they lie in it: the
    bounds are wider by half its width, by that share.

    Where a repetition alone has too few packets or lost too many of them, or one took no time at all, the result
    is the quantile of all of them merged, without bounds; None where they have none either. One repetition has
    no interval.
    """
    each = repetitions if isinstance(repetitions, Distributions) else Distributions.of(repetitions)
    used = each.sent > 0
    logarithms, shares = (found[used] for found in _quantiles_of(each, q))
    if not used.any() or np.isnan(logarithms).any():
        estimate = each.merged.quantile(q)
        return None if estimate is None else Interval(estimate, None, None, int(used.sum()))
    hidden = float(shares.mean())
    typical = repeated(logarithms, confidence, max(hidden, 1 / BUCKETS_AN_OCTAVE)).through(math.exp)
    if typical.low is None or typical.high is None:
        return typical
    return replace(typical, low=typical.low * (1 - hidden), high=typical.high * (1 + hidden))


def _quantiles_of(repetitions: Distributions, q: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The logarithm of each one's quantile, and what share of it its bucket hides; NaN where it has none."""
    sent, samples = repetitions.sent, repetitions.samples
    position = np.round(q * (sent + 1 / 3) + 1 / 3, 6)
    around = np.stack([np.floor(position), np.ceil(position)]).astype(np.int64)
    known = (sent >= samples_needed(q)) & (around[1] <= samples)
    if not known.any():
        return np.full(len(sent), np.nan), np.full(len(sent), np.nan)
    at = np.stack([repetitions.bucket_of(np.where(known, rank, 1)) for rank in around])
    at = np.minimum(at, len(repetitions.values) - 1)
    middles, counts = repetitions.values[at].astype(float), repetitions.counts[at]
    known &= middles[0] > 0
    middles = np.maximum(middles, 1)
    widths = np.maximum(1.0, 2.0 ** np.floor(np.log2(middles)) / BUCKETS_AN_OCTAVE)
    within = (around - (repetitions.up_to[at] - repetitions.begin) - 0.5) / counts - 0.5
    below, above = np.log(np.maximum(middles + within * widths, 0.5))
    found = below + (position - around[0]) * (above - below)
    hidden = counts[1] / np.maximum(sent, 1) * widths[1] / middles[1] / 2
    return np.where(known, found, np.nan), np.where(known, hidden, np.nan)
