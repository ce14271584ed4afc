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

from vtax.statistics.interval import CONFIDENCE, Interval, mean_interval

BUCKET_WIDTH: Final = 0.001
"""Width of a histogram's bucket as a share of its value: results keep three significant digits."""


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
    repetitions: Sequence[Distribution], q: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """Return quantile q of a typical repetition: the geometric mean of each one's, with its interval.

    The Student-t interval of the logarithms, transformed back, and below it the width of a histogram bucket:
    a value is its bucket's highest, so equal ones still leave that much open. It holds where the logarithms of
    the repetitions' quantiles are about normal, however few they are. Within a repetition the quantile lies
    between the two values around rank q (packets + 1), below which a share q lies on average (Weibull's
    position, type 6 of Hyndman and Fan, The American Statistician 50, 1996).

    Where a repetition alone has too few packets or lost too many of them, or one took no time at all, the result
    is the quantile of all of them merged, without bounds; None where they have none either. One repetition has
    no interval.
    """
    used = [each for each in repetitions if each.sent]
    found = [_logarithm(each, q) for each in used]
    known = [logarithm for logarithm in found if logarithm is not None]
    if not used or len(known) < len(used):
        estimate = merge(used).quantile(q)
        return None if estimate is None else Interval(estimate, None, None, len(used))
    typical = mean_interval(known, confidence)
    estimate = math.exp(typical.mean)
    if typical.low is None or typical.high is None:
        return Interval(estimate, None, None, typical.n)
    return Interval(estimate, math.exp(typical.low) * (1 - BUCKET_WIDTH), math.exp(typical.high), typical.n)


def _logarithm(repetition: Distribution, q: float) -> float | None:
    """The logarithm of a repetition's quantile; None where it has none that is finite."""
    if repetition.sent < samples_needed(q):
        return None
    position = round(q * (repetition.sent + 1), 6)
    lower = math.floor(position)
    upper = math.ceil(position)
    if upper > repetition.samples:
        return None
    values = repetition.values[np.searchsorted(repetition.counts.cumsum(), [lower, upper])]
    if values[0] <= 0:
        return None
    below, above = np.log(values)
    return float(below + (position - lower) * (above - below))


def _rank(q: float, packets: int) -> int:
    return max(1, math.ceil(_share(q, packets)))


def _share(q: float, packets: int) -> float:
    # Rounded: 0.999 x 10,000 is 9990.000000000002 in floating point, and its rank is 9,990.
    return round(q * packets, 6)
