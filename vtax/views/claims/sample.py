"""What a cell's repetitions gave of a quantity that claims are about, with the levels it is told apart by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vtax.model import sample
from vtax.model.bound import Bound
from vtax.statistics import Distribution, Interval, Resolution
from vtax.statistics.interval import CONFIDENCE
from vtax.views.levels import Levels
from vtax.views.tax import scatter_of_ratio
from vtax.views.throughput import Maximum


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample(sample.Sample):
    """A cell's values by block, in the unit of their quantity."""

    levels: Levels
    emulated: bool

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self.levels["platform"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LargestSample(Sample):
    """The largest throughput over the loads, whose bounds allow for having been picked; it forms no differences."""

    maximum: Maximum

    def bound(self, blocks: Collection[int] | None = None) -> Bound:
        """That of the maximum, of which no block is apart."""
        return self.maximum.bound

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """That of the maximum."""
        return self.maximum.scatter(confidence)

    def _ratio(self, other: sample.Sample, confidence: float) -> Interval | None:
        if not isinstance(other, LargestSample):
            raise TypeError("a maximum is compared with a maximum")
        return scatter_of_ratio(self.maximum, other.maximum, confidence)

    def _difference(self, other: sample.Sample, confidence: float) -> Interval | None:
        raise TypeError("differences of maxima have no interval corrected for selection")


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSample(Sample):
    """A value of each block of runs.

    `ns` are the rounds, of shape (runs, iterations), NaN where one failed, and `blocks` the runs' blocks.
    """

    ns: NDArray[np.float64] = field(repr=False)
    blocks: Sequence[int]

    @property
    def by_block(self) -> Iterator[NDArray[np.float64]]:
        """The rounds of each block's runs."""
        blocks = np.asarray(self.blocks)
        return (self.ns[blocks == block] for block in np.unique(blocks))


@dataclass(frozen=True, eq=False, kw_only=True)
class StageSample(Sample):
    """The mean delay of a stage by block, and its distribution over the packets of each."""

    packets: Mapping[int, Distribution] = field(repr=False)

    def beyond(self, delay_ns: float) -> Sample:
        """The share of packets that took longer."""
        shares = {
            block: float(each.counts[each.values > delay_ns].sum() / each.samples)
            for block, each in self.packets.items()
            if each.samples
        }
        return Sample(
            levels=self.levels,
            emulated=self.emulated,
            values=shares,
            recorded=self.recorded,
            invalid=self.invalid,
            resolution=Resolution(
                step=max((1 / each.samples for each in self.packets.values() if each.samples), default=0.0)
            ),
            repeated=self.repeated,
        )
