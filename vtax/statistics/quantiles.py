"""Quantiles of delay, from the HdrHistograms that a result holds, with bootstrap intervals over repetitions.

Quantiles of several trials are taken from the merged histogram, never averaged. A quantile q is shown only
with at least 10 / (1 - q) packets, so that ten or more lie beyond it.

A lost packet's delay is undefined, informally infinite (RFC 7679, 3.4), and so beyond every measured one:
quantiles are taken over received and lost together (RFC 7679, 5.1). Leaving the lost ones
out would let a platform look faster by losing what it delays most.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray
from scipy import stats

from vtax.statistics.interval import CONFIDENCE, Interval


@dataclass(frozen=True, eq=False)
class Distribution:
    """Samples counted by value: `values` ascending and `counts`, both int64 of shape (buckets,).

    A value is the highest one that its bucket stands for, so no quantile is understated. `lost` counts the
    packets without a sample because they never arrived.
    """

    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    lost: int = 0

    @property
    def samples(self) -> int:
        """How many samples were counted."""
        return int(self.counts.sum())

    @property
    def sent(self) -> int:
        """Samples and lost packets together."""
        return self.samples + self.lost

    def lies_in_the_lost(self, q: float) -> bool:
        """Whether quantile q is beyond every sample: a share of 1 - q or more was lost."""
        return self.lost > 0 and self.samples <= _share(q, self.sent)

    def quantile(self, q: float) -> float | None:
        """Return the least value with a share q of all that was sent at or below it.

        None where too few were sent, or where it lies among the lost.
        """
        if self.sent < samples_needed(q) or self.lies_in_the_lost(q):
            return None
        return float(self.values[np.searchsorted(self.counts.cumsum(), _rank(q, self.sent))])


def samples_needed(q: float) -> int:
    """Return the least number of packets, received or lost, that quantile q is shown with.

    ValueError unless 0 < q < 1.
    """
    if not 0 < q < 1:
        raise ValueError(f"a quantile lies between 0 and 1: {q}")
    return math.ceil(round(10 / (1 - q), 6))


def decode(encoded: str) -> Distribution:
    """Read an HdrHistogram in V2 encoding and base64. ValueError where it is none."""
    try:
        histogram: Any = HdrHistogram.decode(encoded)
    except (ValueError, zlib.error, HdrCookieException, HdrLengthException) as error:
        raise ValueError(f"not an HdrHistogram in V2 encoding: {error!r}") from error
    counts = np.frombuffer(histogram.counts, dtype=f"u{histogram.word_size}").astype(np.int64)
    used = np.flatnonzero(counts)
    values = _bucket_values(
        histogram.lowest_trackable_value, histogram.highest_trackable_value, histogram.significant_figures
    )
    return Distribution(values[used], counts[used])


@lru_cache(maxsize=8)
def _bucket_values(lowest: int, highest: int, digits: int) -> NDArray[np.int64]:
    """The highest value of each bucket of such a histogram; kept, because thousands are decoded alike."""
    histogram: Any = HdrHistogram(lowest, highest, digits)
    starts = [histogram.get_value_from_index(index) for index in range(histogram.counts_len)]
    return np.array([histogram.get_highest_equivalent_value(start) for start in starts], dtype=np.int64)


def merge(distributions: Sequence[Distribution]) -> Distribution:
    """Return all samples and losses together; the histograms may differ in range and precision."""
    values = np.concatenate([np.empty(0, np.int64), *(each.values for each in distributions)])
    counts = np.concatenate([np.empty(0, np.int64), *(each.counts for each in distributions)])
    distinct, place = np.unique(values, return_inverse=True)
    together = np.bincount(place, counts, len(distinct)).astype(np.int64)
    return Distribution(distinct, together, sum(each.lost for each in distributions))


def quantile_interval(
    repetitions: Sequence[Distribution],
    q: float,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval | None:
    """Return quantile q of the merged `repetitions` with its bootstrap interval.

    None where the merged distribution has none: too few packets, or too many of them lost.

    A percentile bootstrap that draws whole repetitions with replacement, because samples within one are not
    independent (Davison and Hinkley, Bootstrap Methods and their Application, 1997, 3.8), with percentiles
    moved outwards as Student's t moves bounds for few values ("expanded": Hesterberg, What Teachers Should
    Know about the Bootstrap, The American Statistician 69, 2015). It never exceeds what the repetitions show,
    so three of them hold a true median three times in four only, nine of them as often as they promise. One
    repetition has no interval, nor have several where a bound would lie among the lost packets. The same
    `seed` gives the same interval.
    """
    used = [each for each in repetitions if each.sent]
    pooled = merge(used)
    estimate = pooled.quantile(q)
    if estimate is None:
        return None
    n = len(used)
    if n == 1:
        return Interval(estimate, None, None, 1)
    by_repetition = np.zeros((n, len(pooled.values)))
    for row, each in zip(by_repetition, used, strict=True):
        row[np.searchsorted(pooled.values, each.values)] = each.counts
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), resamples)
    drawn, place = np.unique(drawn, axis=0, return_inverse=True)  # few repetitions: the same draws come often
    cumulated = drawn @ by_repetition.cumsum(axis=1)
    sent = drawn @ np.array([each.sent for each in used])
    ranks = np.array([_rank(q, int(packets)) for packets in sent])
    shares = np.array([_share(q, int(packets)) for packets in sent])
    found = pooled.values[np.argmax(cumulated >= ranks[:, np.newaxis], axis=1)]
    estimates = np.where(cumulated[:, -1] > shares, found, np.inf)[place]
    tail = stats.norm.cdf(-math.sqrt(n / (n - 1)) * stats.t.ppf((1 + confidence) / 2, n - 1))
    with np.errstate(invalid="ignore"):  # between two infinite ones numpy interpolates to NaN
        low, high = np.quantile(estimates, [tail, 1 - tail])
    if not np.isfinite([low, high]).all():
        return Interval(estimate, None, None, n)
    return Interval(estimate, float(low), float(high), n)


def _rank(q: float, packets: int) -> int:
    return max(1, math.ceil(_share(q, packets)))


def _share(q: float, packets: int) -> float:
    # Rounded: 0.999 x 10,000 is 9990.000000000002 in floating point, and its rank is 9,990.
    return round(q * packets, 6)
