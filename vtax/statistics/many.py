"""Many comparisons at once: which found a difference, with intervals that allow for their having been picked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vtax.statistics.interval import CONFIDENCE, Interval
from vtax.statistics.unpaired import FALSE_DISCOVERY_RATE

Difference = Callable[[float], Interval]
"""A difference's interval at a confidence."""


@dataclass(frozen=True)
class Picked:
    """The differences of many comparisons, in their order: None where the interval does not exclude zero."""

    confidence: float
    intervals: tuple[Interval | None, ...]


def pick_differences(differences: Sequence[Difference], rate: float = FALSE_DISCOVERY_RATE) -> Picked:
    """Pick the differences from zero among many, at most a share `rate` of them wrongly on average.

    Benjamini and Hochberg's step-up (Journal of the Royal Statistical Society B 57, 1995): the most comparisons R of m
    whose intervals at the confidence 1 - R rate / m exclude zero. These intervals are those to be shown: of the picked
    ones at most a share `rate` miss on average, and none holds zero (Benjamini and Yekutieli, Journal of the American
    Statistical Association 100, 2005, on false coverage). With one comparison it is an ordinary interval.
    """
    count = len(differences)
    while count:
        confidence = 1 - rate * count / len(differences)
        intervals = [difference(confidence) for difference in differences]
        found = [interval if _excludes_zero(interval) else None for interval in intervals]
        picked = sum(interval is not None for interval in found)
        if picked == count:
            return Picked(confidence, tuple(found))
        count = picked  # a narrower choice has wider intervals: no count in between can hold
    return Picked(CONFIDENCE, (None,) * len(differences))


def _excludes_zero(interval: Interval) -> bool:
    return interval.low is not None and interval.high is not None and not interval.low <= 0 <= interval.high
