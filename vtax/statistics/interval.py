"""Confidence intervals of a mean and of a proportion."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

CONFIDENCE: Final = 0.95

_LARGEST: Final = math.log(sys.float_info.max)

Values = Sequence[float] | NDArray[np.float64]
MeanInterval = Callable[[Values, float], "Interval"]
"""How a mean's interval at a confidence is taken."""


class RepeatedInterval(Protocol):
    """How that of repetitions is taken, of values that may differ by a step though nothing does."""

    def __call__(self, values: Values, confidence: float = ..., step: float = ...) -> "Interval":
        """Return it at that confidence."""


class Centre(StrEnum):
    """Of several values the one that stands for all."""

    MEAN = "mean"
    MEDIAN = "median"


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval, in the unit of what was estimated.

    `mean` is the estimate: a mean, the median where that is the `centre`, or what the function that returned it says.
    `low` and `high` are both None where the data cannot give an interval. `n` is the number of independent values
    behind it, that is of repetitions, however many packets each of them saw. Of these `apart` stand apart from the
    others; where they are too few for a median then, `points` are all of them, ascending.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    centre: Centre = Centre.MEAN
    apart: int = 0
    points: tuple[float, ...] = ()

    def through(self, rising: Callable[[float], float]) -> "Interval":
        """Return the same on another scale, of which `rising` gives each value's place."""
        return replace(
            self,
            mean=rising(self.mean),
            low=None if self.low is None else rising(self.low),
            high=None if self.high is None else rising(self.high),
            points=tuple(map(rising, self.points)),
        )


def mean_interval(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of `values` with its Student-t interval ("Student" 1908; drawn in schlosser2011 3.3).

    One value has no interval; equal values have one of no width. ValueError for no values or one not finite.
    """
    sample = np.asarray(values, dtype=float)
    if not sample.size or not np.isfinite(sample).all():
        raise ValueError(f"a mean needs at least one value, all finite: {list(values)!r}")
    mean = float(sample.mean())
    if sample.size == 1:
        return Interval(mean, None, None, 1)
    standard_error = sample.std(ddof=1) / math.sqrt(sample.size)
    half_width = float(scipy.special.stdtrit(sample.size - 1, (1 + confidence) / 2) * standard_error)
    return Interval(mean, mean - half_width, mean + half_width, int(sample.size))


def with_systematic_error(interval: Interval, error: float) -> Interval:
    """Return an interval that also allows for an error of all its values alike, of which only a bound is known.

    A bounded systematic error does not become less by repeating, so that it is added to both sides as it is. An
    estimate without an interval has none with it either.
    """
    if interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=interval.low - error, high=interval.high + error)


def exponential(logarithm: float) -> float:
    """e to that power, infinite where no number holds it: a bound of few values that scatter widely."""
    return math.exp(logarithm) if logarithm < _LARGEST else math.inf


def proportion_interval(hits: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Return hits / n with its exact binomial interval (Clopper and Pearson 1934), within 0 to 1.

    For independent events such as a trial's verdict. Lost frames are not: they come in bursts, so the
    interval of a loss ratio is the mean_interval over repetitions. ValueError unless 0 <= hits <= n, 1 <= n.
    """
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"a proportion needs 0 <= hits <= n and n >= 1: {hits} of {n}")
    found = scipy.stats.binomtest(hits, n).proportion_ci(confidence, method="exact")
    return Interval(hits / n, float(found.low), float(found.high), n)
