"""Quantiles of delay, from the HdrHistograms that a result holds, with intervals over repetitions.

The samples of a repetition are not independent of each other, so a repetition is what is sampled: the interval
is that of the quantile of a typical repetition, from one quantile each. A quantile q is taken only of at least
10 / (1 - q) packets, so that ten or more lie beyond it.

A lost packet's delay is undefined, informally infinite (RFC 7679, 3.4), and so beyond every measured one:
quantiles are taken over received and lost together (RFC 7679, 5.1). Leaving the lost ones
out would let a platform look faster by losing what it delays most.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from vtax.statistics.interval import CONFIDENCE, Interval, MeanInterval, mean_interval

BUCKETS_AN_OCTAVE: Final = 128
"""The sink files delays by that many buckets to each power of two, and gives their middles."""


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

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the samples, to the width of their buckets; None of fewer than two."""
        if self.samples < 2:
            return None
        mean = np.average(self.values, weights=self.counts)
        return math.sqrt(float(self.counts @ (self.values - mean) ** 2) / (self.samples - 1))

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
    confidence: float = CONFIDENCE,
    mean: MeanInterval = mean_interval,
) -> Interval | None:
    """Return quantile q of a typical repetition: the geometric mean of each one's, with its interval.

    The interval of the logarithms, Student's unless told, transformed back. It holds where the logarithms of
    the repetitions' quantiles are about normal, however few they are. Within a repetition the quantile lies
    between the two values around rank q (packets + 1/3) + 1/3, whose median is the quantile about exactly,
    whatever the distribution (type 8 of Hyndman and Fan, The American Statistician 50, 1996): a bias of one
    repetition is that of all, and many would make an interval narrow that is beside the truth. The values of
    a bucket are spread evenly over it. A bucket that holds most of a repetition hides how they lie in it: the
    bounds are wider by half its width, by that share.

    Where a repetition alone has too few packets or lost too many of them, or one took no time at all, the result
    is the quantile of all of them merged, without bounds; None where they have none either. One repetition has
    no interval.
    """
    used = [each for each in repetitions if each.sent]
    found = [_quantile_of(each, q) for each in used]
    known = [each for each in found if each is not None]
    if not used or len(known) < len(used):
        estimate = merge(used).quantile(q)
        return None if estimate is None else Interval(estimate, None, None, len(used))
    typical = mean([logarithm for logarithm, _ in known], confidence)
    estimate = math.exp(typical.mean)
    if typical.low is None or typical.high is None:
        return Interval(estimate, None, None, typical.n)
    hidden = float(np.mean([share for _, share in known]))
    low, high = math.exp(typical.low) * (1 - hidden), math.exp(typical.high) * (1 + hidden)
    return Interval(estimate, low, high, typical.n)


def _quantile_of(repetition: Distribution, q: float) -> tuple[float, float] | None:
    """The logarithm of a repetition's quantile, and what share of it its bucket hides; None where it has none."""
    if repetition.sent < samples_needed(q):
        return None
    position = round(q * (repetition.sent + 1 / 3) + 1 / 3, 6)
    around = np.array([math.floor(position), math.ceil(position)])
    if around[1] > repetition.samples:
        return None
    up_to = repetition.counts.cumsum()
    at = np.searchsorted(up_to, around)
    middles, counts = repetition.values[at].astype(float), repetition.counts[at]
    if middles[0] <= 0:
        return None
    widths = np.maximum(1.0, 2.0 ** np.floor(np.log2(middles)) / BUCKETS_AN_OCTAVE)
    within = (around - (up_to[at] - counts) - 0.5) / counts - 0.5
    below, above = np.log(np.maximum(middles + within * widths, 0.5))
    hidden = counts[1] / repetition.sent * widths[1] / middles[1] / 2
    return float(below + (position - around[0]) * (above - below)), float(hidden)


def _rank(q: float, packets: int) -> int:
    return max(1, math.ceil(_share(q, packets)))


def _share(q: float, packets: int) -> float:
    # Rounded: 0.999 x 10,000 is 9990.000000000002 in floating point, and its rank is 9,990.
    return round(q * packets, 6)
