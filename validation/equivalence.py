"""Equivalence: whether the interval of a difference lies within an error budget.

That an instrument's own interval holds the truth shows little: a wide one holds anything.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from vtax.statistics.apart import median_rank

Bounds: TypeAlias = tuple[float, float]
CONFIDENCE: Final = 0.9
"""Of an interval that has to lie within its budget: equivalence by two one-sided tests of 5%."""


@dataclass(frozen=True)
class Budget:
    """How far one may lie from another and still be called the same, both bounds included."""

    least: float
    most: float

    @classmethod
    def either_way(cls, most: float) -> "Budget":
        """Return the budget of a difference of either sign."""
        return cls(-most, most)

    def holds(self, interval: Bounds) -> bool:
        """Whether all of an interval is within: the equivalence is shown."""
        return self.least <= interval[0] and interval[1] <= self.most

    def overlaps(self, interval: Bounds) -> bool:
        """Whether a part of an interval is within: the equivalence is not refuted."""
        return interval[0] <= self.most and self.least <= interval[1]

    def unexplained(self, differences: Sequence[float], compared: int) -> bool:
        """Whether differences miss it for certain, over so many rows (Bonferroni): no unevenness explains that."""
        return not self.overlaps(median_interval(differences, refuting(compared)))

    def too_uneven(
        self, own: Iterable[tuple[str, Sequence[float]]], text: Callable[[Bounds], str]
    ) -> str | None:
        """Return the first of several series that misses the budget against itself, from each value to the next.

        In a sentence; None where each keeps it.
        """
        for who, values in own:
            steps = median_interval([later - earlier for earlier, later in itertools.pairwise(values)])
            if not self.holds(steps):
                return (
                    f"From one round to the next {who} itself differs by {text(steps)}, "
                    "beyond the same budget: this machine was too uneven to tell."
                )
        return None


def refuting(compared: int) -> float:
    """Return the confidence of an interval beyond the budget that no unevenness explains, over so many rows."""
    return 1 - (1 - CONFIDENCE) / compared


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Bounds:
    """An interval of the median at so much or more, whatever the distribution; unbounded for too few values."""
    rank = median_rank(values, confidence)
    if not rank:
        return -math.inf, math.inf
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]


def microseconds(interval_ns: Bounds, digits: int = 1) -> str:
    """Return an interval of signed differences in ns as text."""
    low, high = (f"{bound_ns / 1e3:+.{digits}f}" for bound_ns in interval_ns)
    return f"[{low}, {high}] µs"
