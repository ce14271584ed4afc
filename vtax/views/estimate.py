"""A number as every view shows it: with its interval, its n and the share of trials left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value over repetitions; its unit is in the name of the field that holds it.

    `low` and `high` bound the 95% interval and are None where n is too small for one. `n` counts repetitions
    (pairs for a paired difference). `left_out` is the share of recorded trials, 0 to 1, that the verdict
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

    def includes(self, value: float) -> bool:
        """Whether the interval does not exclude `value`; without an interval nothing is excluded."""
        if self.low is None or self.high is None:
            return True
        return self.low <= value <= self.high
