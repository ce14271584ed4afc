"""A number as every view shows it: with its interval, its n and the share of trials left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vtax.statistics import Interval, MeanInterval, mean_interval, relative_width
from vtax.statistics.interval import CONFIDENCE


@dataclass(frozen=True)
class Estimate:
    """A value over repetitions; its unit is in the name of the field that holds it.

    `low` and `high` bound the 95% interval and are None where none can be formed. `n` counts repetitions
    (pairs for a paired comparison). `left_out` is the share of recorded trials, 0 to 1, that the verdict
    *invalid* kept out of it.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    left_out: float

    @property
    def has_interval(self) -> bool:
        """Whether an interval could be formed at all."""
        return self.low is not None and self.high is not None

    @property
    def relative_width(self) -> float | None:
        """The interval's width as a share of the value; None where it has no bounds."""
        return relative_width(Interval(self.value, self.low, self.high, self.n))

    def includes(self, value: float) -> bool:
        """Whether the interval does not exclude `value`; without an interval nothing is excluded."""
        if self.low is None or self.high is None:
            return True
        return self.low <= value <= self.high

    def map(self, change: Callable[[float], float]) -> Estimate:
        """The same estimate on another scale; a falling `change` swaps the bounds."""
        value = change(self.value)
        if self.low is None or self.high is None:
            return Estimate(value, None, None, self.n, self.left_out)
        low, high = sorted((change(self.low), change(self.high)))
        return Estimate(value, low, high, self.n, self.left_out)


def estimate(interval: Interval, left_out: float) -> Estimate:
    """A statistic's interval as views show it."""
    return Estimate(interval.mean, interval.low, interval.high, interval.n, left_out)


def mean_estimate(values: Sequence[float], left_out: float, mean: MeanInterval = mean_interval) -> Estimate:
    """The mean of one value a block."""
    return estimate(mean(values, CONFIDENCE), left_out)
