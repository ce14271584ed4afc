"""How finely values are known: the steps that they come in, which no repeating makes finer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from vtax.statistics.interval import Interval, with_systematic_error


@dataclass(frozen=True)
class Resolution:
    """The width of the steps that values come in: `step` in their unit or `share` of them, whichever is wider.

    Values that do not differ are not exact: each lies anywhere within a step, and all may lie at the same place of it.
    So a step is a systematic error, which an interval has on both sides. Nothing here has an interval of no width:
    where the steps are unknown as well, as of zeros of which only a share is known, there is none.
    """

    step: float = 0.0
    share: float = 0.0

    def at(self, value: float) -> float:
        """Return the width at a value, in its unit."""
        return max(self.step, self.share * abs(value))

    def scaled(self, factor: float) -> Resolution:
        """Return that of the values times a factor above 0."""
        return Resolution(self.step * factor, self.share)

    def of_mean(self, interval: Interval, *, is_signed: bool = False) -> Interval:
        """Return a mean's interval, wider by a step on both sides.

        The step alone takes it below zero only where values are `is_signed`.
        """
        wider = wider_by(interval, self.at(interval.mean))
        if is_signed or interval.low is None or wider.low is None or wider.low >= 0:
            return wider
        return replace(wider, low=min(interval.low, 0.0))


def wider_by(interval: Interval, step: float) -> Interval:
    """Return an interval wider by `step` on both sides; without bounds where it then has no width."""
    wider = with_systematic_error(interval, step)
    return replace(wider, low=None, high=None) if wider.low == wider.high else wider


def step_of_difference(one: float, other: float) -> float:
    """Return the step of a difference, or of a logarithm of a ratio, from those of its sides.

    The larger one: values in the middle of their steps are each wrong by half of one at most.
    """
    return max(one, other)


def ratio_wider_by(interval: Interval, share: float) -> Interval:
    """Return a ratio's interval wider by a share of it on both sides, as its logarithms are."""
    if interval.low is None or interval.high is None:
        return interval
    factor = math.exp(share)
    return replace(interval, low=interval.low / factor, high=interval.high * factor)


PER_MILLE: Final = Resolution(share=1e-3)
"""Of rates and times: a frame or request of the thousand that a short trial has, or a nanosecond of a microsecond."""
COUNTED: Final = Resolution(step=1.0)
"""Of what is counted in whole numbers."""
