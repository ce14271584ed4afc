"""What a cell's repetitions gave of a quantity, and what two such cells tell of each other.

A value that the instrument or the link set is only a lower bound: the true one may be anything above. So the interval
of what is made of it is open on that side, and can exclude nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vtax.statistics import (
    Distribution,
    Interval,
    MeanInterval,
    absolute_change,
    mean_interval,
    paired_difference,
    paired_ratio,
    relative_change,
    select_maximum,
)
from vtax.views.estimate import Estimate, estimate
from vtax.views.tax import ratio_of
from vtax.views.throughput import Maximum

Levels = Mapping[str, str]
"""Factors and fixed keys of the testbed by name, `platform` among them, each with its level as text."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A cell's values by block, in the unit of their quantity; those of one block are compared with each other.

    `lower_bound` tells that something other than the platform set them, which might have reached more.
    """

    levels: Levels
    emulated: bool
    values: Mapping[int, float]
    recorded: int
    invalid: int
    mean: MeanInterval = mean_interval
    lower_bound: bool = False

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self.levels["platform"]

    def estimate(self, confidence: float) -> Estimate | None:
        """The mean over the blocks."""
        found = estimate(self._mean(confidence), self.invalid / self.recorded)
        return _opened(found, -math.inf, below=False, above=self.lower_bound)

    def ratio(self, other: Sample, confidence: float) -> Estimate | None:
        """Itself over another; None where no block has both, or the other is zero."""
        return self._between(self._ratio(other, confidence), other, 0.0)

    def difference(self, other: Sample, confidence: float) -> Estimate | None:
        """Itself less another; None where no block has both."""
        return self._between(self._difference(other, confidence), other, -math.inf)

    def _between(self, found: Interval | None, other: Sample, least: float) -> Estimate | None:
        if found is None:
            return None
        left_out = (self.invalid + other.invalid) / (self.recorded + other.recorded)
        shown = estimate(found, left_out)
        return _opened(shown, least, below=other.lower_bound, above=self.lower_bound)

    def _mean(self, confidence: float) -> Interval:
        return self.mean(list(self.values.values()), confidence)

    def _ratio(self, other: Sample, confidence: float) -> Interval | None:
        return paired_ratio(self.values, other.values, confidence, self.mean)

    def _difference(self, other: Sample, confidence: float) -> Interval | None:
        return paired_difference(self.values, other.values, confidence, self.mean)


@dataclass(frozen=True, eq=False, kw_only=True)
class LargestSample(Sample):
    """The largest throughput over the loads, whose bounds allow for having been picked; it forms no differences."""

    maximum: Maximum

    def _mean(self, confidence: float) -> Interval:
        if self.maximum.cell.adaptive:
            return self.maximum.ladder(confidence).interval
        selected = select_maximum(self.maximum.by_load_mbps, confidence)
        if selected is None:
            raise ValueError("a maximum needs a cell with a usable trial")
        return selected.interval

    def _ratio(self, other: Sample, confidence: float) -> Interval | None:
        if not isinstance(other, LargestSample):
            raise TypeError("a maximum is compared with a maximum")
        return ratio_of(self.maximum, other.maximum, confidence)

    def _difference(self, other: Sample, confidence: float) -> Interval | None:
        raise TypeError("differences of maxima have no bounds for having been picked")


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSample(Sample):
    """A value of each run of relays; runs follow one another, so that those of two cells are no pairs.

    `ns` are the rounds, of shape (runs, iterations), NaN where one failed.
    """

    ns: NDArray[np.float64] = field(repr=False)

    def _ratio(self, other: Sample, confidence: float) -> Interval | None:
        sides = list(other.values.values()), list(self.values.values())
        found = relative_change(*sides, confidence=confidence)
        return None if found is None else _shifted(found.interval, 1.0)

    def _difference(self, other: Sample, confidence: float) -> Interval | None:
        sides = list(other.values.values()), list(self.values.values())
        found = absolute_change(*sides, confidence=confidence)
        return None if found is None else found.interval


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
        return Sample(self.levels, self.emulated, shares, self.recorded, self.invalid, self.mean)


def _opened(shown: Estimate, least: float, *, below: bool, above: bool) -> Estimate:
    """An interval without the bounds that what was measured cannot give."""
    if not shown.has_interval:
        return shown
    return replace(shown, low=least if below else shown.low, high=math.inf if above else shown.high)


def _shifted(found: Interval, by: float) -> Interval:
    low, high = (None if bound is None else bound + by for bound in (found.low, found.high))
    return Interval(found.mean + by, low, high, found.n)
