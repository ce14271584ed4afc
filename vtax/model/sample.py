"""What a cell's repetitions gave of a quantity, each with what bounded it, and what two such cells compare to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median

from vtax.model.bound import Bound, Limit, main_limit
from vtax.model.estimate import Estimate, estimate
from vtax.statistics import (
    Interval,
    RepeatedInterval,
    Resolution,
    paired_difference,
    paired_ratio,
    typical_interval,
)
from vtax.statistics.interval import CONFIDENCE
from vtax.statistics.resolution import ratio_wider_by, step_of_difference, wider_by


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """A cell's values by block, in one unit; those of one block are compared with each other.

    `resolution` is how finely they are known; every interval formed of them is wider by it. `repeated` tells how one is
    taken. `limits` has what bounded a block's value in the platform's stead, which might have reached more. Blocks that
    it does not name are exact.
    """

    values: Mapping[int, float]
    recorded: int
    invalid: int
    resolution: Resolution
    repeated: RepeatedInterval = typical_interval
    limits: Mapping[int, Limit] = field(default_factory=dict)

    @property
    def limit(self) -> Limit | None:
        """What bounded most of its values; None where nothing did."""
        return main_limit(self.limits.values())

    def bound(self, blocks: Collection[int] | None = None) -> Bound:
        """How its mean is read, over all blocks or these alone."""
        return Bound.of(limit for block, limit in self.limits.items() if blocks is None or block in blocks)

    def scaled(self, factor: float) -> Sample:
        """Return the values times a factor above 0."""
        return replace(
            self,
            values={block: factor * value for block, value in self.values.items()},
            resolution=self.resolution.scaled(factor),
        )

    def estimate(self, confidence: float = CONFIDENCE) -> Estimate:
        """What the blocks come to: their mean, or the median where some stand apart."""
        return estimate(self.interval(confidence), self.invalid / self.recorded).read_as(self.bound())

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The interval over the blocks by scatter and steps alone, whatever bounded the values."""
        found = self.repeated(list(self.values.values()), confidence, self._step)
        return self.resolution.of_mean(found, is_signed=min(self.values.values()) < 0)

    def ratio(self, other: Sample, confidence: float = CONFIDENCE) -> Estimate | None:
        """Itself over another; None where no block has both, or the other is zero."""
        return self._against(other, self._ratio(other, confidence))

    def difference(self, other: Sample, confidence: float = CONFIDENCE) -> Estimate | None:
        """Itself less another; None where no block has both."""
        return self._against(other, self._difference(other, confidence))

    def _against(self, other: Sample, found: Interval | None) -> Estimate | None:
        if found is None:
            return None
        left_out = (self.invalid + other.invalid) / (self.recorded + other.recorded)
        return estimate(found, left_out).read_as(self._bound_against(other))

    def _bound_against(self, other: Sample) -> Bound:
        """Only the blocks that both have count."""
        both = self.values.keys() & other.values.keys()
        return self.bound(both).over(other.bound(both))

    def _ratio(self, other: Sample, confidence: float) -> Interval | None:
        if not (self._middle and other._middle):
            return paired_ratio(self.values, other.values, confidence)
        share = step_of_difference(self._step / self._middle, other._step / other._middle)
        found = paired_ratio(self.values, other.values, confidence, partial(self.repeated, step=share))
        return found and ratio_wider_by(found, share)

    def _difference(self, other: Sample, confidence: float) -> Interval | None:
        step = step_of_difference(self._step, other._step)
        found = paired_difference(self.values, other.values, confidence, partial(self.repeated, step=step))
        return found and wider_by(found, step)

    @property
    def _middle(self) -> float:
        """The median, which no value that stands apart moves far."""
        return median(self.values.values())

    @property
    def _step(self) -> float:
        """How finely its values are known."""
        return self.resolution.at(self._middle)
