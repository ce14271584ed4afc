"""Samples counted by value, and what was lost beside them: one distribution, or many at once.

A lost packet's delay is undefined, informally infinite (RFC 7679, 3.4), and so beyond every measured one:
quantiles are taken over received and lost together (RFC 7679, 5.1). Leaving the lost ones
out would let a platform look faster by losing what it delays most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
SPARSE: Final = 8
"""Up to so many possible values for each given one they are counted in their places, which sorts nothing."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Samples counted by value: `values` ascending and `counts`, both int64 of shape (buckets,).

    A value is the highest one that its bucket stands for, so no quantile is understated. `lost` counts the
    packets without a sample because they never arrived.
    """

    values: Integers
    counts: Integers
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


@dataclass(frozen=True, eq=False)
class Distributions:
    """Many distributions, their buckets one behind the other.

    `values` and `counts` are int64 of shape (buckets,), each distribution's values ascending; `bounds` of shape
    (distributions + 1,) is where each begins, and `lost` of shape (distributions,) is as of Distribution.
    """

    values: Integers
    counts: Integers
    bounds: Integers
    lost: Integers

    @classmethod
    def of(cls, each: Sequence[Distribution]) -> "Distributions":
        """Put single ones together."""
        none = np.empty(0, np.int64)
        return cls(
            np.concatenate([none, *(one.values for one in each)]),
            np.concatenate([none, *(one.counts for one in each)]),
            np.cumsum([0, *(len(one.values) for one in each)], dtype=np.int64),
            np.array([one.lost for one in each], dtype=np.int64),
        )

    def __len__(self) -> int:
        """How many distributions."""
        return len(self.lost)

    @cached_property
    def up_to(self) -> Integers:
        """Samples before each bucket, and at last all, over all distributions: (buckets + 1,)."""
        return np.concatenate([[0], self.counts.cumsum()])

    @property
    def begin(self) -> Integers:
        """Samples of all distributions before each one."""
        return self.up_to[self.bounds[:-1]]

    @property
    def samples(self) -> Integers:
        """Samples of each."""
        return self.up_to[self.bounds[1:]] - self.begin

    @property
    def sent(self) -> Integers:
        """Samples and lost packets of each together."""
        return self.samples + self.lost

    @property
    def merged(self) -> Distribution:
        """All of them together."""
        values, counts = _counted(self.values, self.counts)
        return Distribution(values, counts, int(self.lost.sum()))

    def bucket_of(self, rank: Integers) -> NDArray[np.intp]:
        """The bucket of the sample of this rank, from 1, in each distribution; it has as many samples."""
        return np.searchsorted(self.up_to[1:], self.begin + rank)

    def lie_in_the_lost(self, q: float) -> NDArray[np.bool_]:
        """Whether quantile q of each is beyond every sample."""
        return np.asarray((self.lost > 0) & (self.samples <= np.round(q * self.sent, 6)))

    def quantiles(self, q: float) -> NDArray[np.float64]:
        """Quantile q of each as of Distribution, NaN where that has none."""
        found = np.full(len(self), np.nan)
        known = (self.sent >= samples_needed(q)) & ~self.lie_in_the_lost(q)
        ranks = np.maximum(1, np.ceil(np.round(q * self.sent, 6))).astype(np.int64)
        found[known] = self.values[self.bucket_of(np.where(known, ranks, 1))[known]]
        return found

    def where(self, kept: NDArray[np.bool_]) -> "Distributions":
        """Those of which `kept`, of shape (distributions,), is true."""
        if kept.all():
            return self
        of_bucket = np.repeat(kept, np.diff(self.bounds))
        buckets = np.diff(self.bounds)[kept]
        return Distributions(
            self.values[of_bucket],
            self.counts[of_bucket],
            np.concatenate([[0], buckets.cumsum()]).astype(np.int64),
            self.lost[kept],
        )

    def together(self, groups: Integers) -> "Distributions":
        """Those of the same group as one each; `groups`, of shape (distributions,), ascend from 0 without a gap."""
        if len(groups) == len(self) and (np.diff(groups) == 1).all():
            return self
        number = int(groups[-1]) + 1
        group = np.repeat(groups, np.diff(self.bounds))
        order = np.lexsort((self.values, group))
        group, values, counts = group[order], self.values[order], self.counts[order]
        is_first = np.ones(len(group), bool)
        is_first[1:] = (np.diff(group) > 0) | (np.diff(values) > 0)
        first = np.flatnonzero(is_first)
        return Distributions(
            values[first],
            np.add.reduceat(counts, first) if len(counts) else counts,
            np.searchsorted(group[first], np.arange(number + 1)).astype(np.int64),
            np.bincount(groups, self.lost, number).astype(np.int64),
        )


def merge(distributions: Sequence[Distribution]) -> Distribution:
    """Return all samples and losses together; the histograms may differ in range and precision."""
    values = np.concatenate([np.empty(0, np.int64), *(each.values for each in distributions)])
    counts = np.concatenate([np.empty(0, np.int64), *(each.counts for each in distributions)])
    return Distribution(*_counted(values, counts), sum(each.lost for each in distributions))


def _counted(values: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Distinct values, ascending, and how often each comes in all."""
    if len(values) and (reach := int(values.max()) - (least := int(values.min()))) <= SPARSE * len(values):
        found = np.bincount(values - least, counts, reach + 1)
        places = np.flatnonzero(found)
        return places + least, found[places].astype(np.int64)
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.bincount(place, counts, len(distinct)).astype(np.int64)


def _rank(q: float, packets: int) -> int:
    return max(1, math.ceil(_share(q, packets)))


def _share(q: float, packets: int) -> float:
    # Rounded: 0.999 x 10,000 is 9990.000000000002 in floating point, and its rank is 9,990.
    return round(q * packets, 6)
