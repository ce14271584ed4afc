"""A number as every view shows it: with its interval, its n, the share of trials left out, and how it is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from vtax.model.bound import Bound
from vtax.statistics import Centre, Interval, RepeatedInterval, Resolution, typical_interval
from vtax.statistics.interval import CONFIDENCE


@dataclass(frozen=True)
class Estimate:
    """A value over repetitions; its unit is in the name of the field that holds it.

    `low` and `high` bound the 95% interval and are None where none can be formed. `n` counts repetitions
    (pairs for a paired comparison). `left_out` is the share of recorded trials, 0 to 1, that the verdict
    *invalid* kept out of it. Where `bound` is *at least*, `high` is infinite; where it is *at most*, `low` is. A value
    that is *withheld* is not a number, and has no interval.

    The value is the repetitions' `centre`, `apart` of which stand apart from the others. Where these are too few for a
    median, `points` are all of them, ascending, and stand in the interval's place; the interval still decides.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    left_out: float
    bound: Bound = Bound.EXACT
    centre: Centre = Centre.MEAN
    apart: int = 0
    points: tuple[float, ...] = ()

    @property
    def has_interval(self) -> bool:
        """Whether an interval could be formed at all."""
        return self.low is not None and self.high is not None

    @property
    def is_withheld(self) -> bool:
        """Whether both sides of it are only bounds, so that it says nothing."""
        return self.bound is Bound.WITHHELD

    def includes(self, value: float) -> bool:
        """Whether the interval does not exclude `value`; without an interval nothing is excluded."""
        if self.low is None or self.high is None:
            return True
        return self.low <= value <= self.high

    def read_as(self, bound: Bound) -> Estimate:
        """Return an exact estimate as a bound of that kind, with the end of its interval that bounds it."""
        if bound is Bound.EXACT:
            return self
        if bound is Bound.WITHHELD:
            return replace(self, value=math.nan, low=None, high=None, bound=bound, points=())
        if not self.has_interval:
            return replace(self, bound=bound)
        if bound is Bound.AT_LEAST:
            return replace(self, high=math.inf, bound=bound)
        return replace(self, low=-math.inf, bound=bound)

    def map(self, change: Callable[[float], float]) -> Estimate:
        """The same estimate on another scale; a falling `change` swaps the bounds."""
        changed = replace(
            self,
            value=change(self.value),
            bound=self.bound.turned if change(1.0) < change(0.0) else self.bound,
            points=tuple(sorted(map(change, self.points))),
        )
        if self.low is None or self.high is None:
            return changed
        low, high = sorted((change(self.low), change(self.high)))
        return replace(changed, low=low, high=high)


def estimate(interval: Interval, left_out: float) -> Estimate:
    """A statistic's interval as views show it."""
    return Estimate(
        interval.mean,
        interval.low,
        interval.high,
        interval.n,
        left_out,
        centre=interval.centre,
        apart=interval.apart,
        points=interval.points,
    )


def repeated_estimate(
    values: Sequence[float],
    left_out: float,
    resolution: Resolution,
    repeated: RepeatedInterval = typical_interval,
) -> Estimate:
    """What one value a block comes to, none below 0; its interval is wider by the values' steps."""
    step = resolution.at(median(values))
    return estimate(resolution.of_mean(repeated(values, CONFIDENCE, step)), left_out)


def estimate_of_known(
    values: Iterable[float | None], left_out: float, resolution: Resolution
) -> Estimate | None:
    """What one value a block comes to over the blocks that have one; None where none has."""
    known = [value for value in values if value is not None]
    return repeated_estimate(known, left_out, resolution) if known else None
