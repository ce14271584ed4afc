"""How far the clocks of two machines are apart, and by how much that may be wrong.

CLOCK_MONOTONIC stamps every frame. Of two machines it is compared in two ways, and the one with the smaller bound is
taken: by questions that each answers with its clock, where half the way there and back bounds the error (RFC 5905,
section 8); and by the time of day of both, as far as chrony bounds its error.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

EXCHANGES = 10
READ_ERROR_NS = 1000
"""What reading two clocks of a machine, one after the other, may add."""


@dataclass(frozen=True)
class ClockAhead:
    """How far one clock is ahead of another; `by` is how that is known, as results word it."""

    ahead_ns: int
    error_ns: int
    """At most."""
    by: str

    @property
    def bounds_ns(self) -> tuple[int, int]:
        """The least and the most that it is ahead."""
        return self.ahead_ns - self.error_ns, self.ahead_ns + self.error_ns

    def error_until_ns(self, later: "ClockAhead") -> int:
        """How wrong it may be by the time of a later comparison: clocks drift apart meanwhile."""
        low, high = later.bounds_ns
        return max(self.error_ns, self.ahead_ns - low, high - self.ahead_ns)


ONE_CLOCK = ClockAhead(0, 0, "one clock")


@dataclass(frozen=True)
class Clock:
    """What is known of a machine's CLOCK_MONOTONIC."""

    ahead: ClockAhead
    """Of the controller's, by exchange."""
    time_of_day_ahead_ns: int
    """CLOCK_REALTIME less CLOCK_MONOTONIC."""
    time_of_day_error_ns: int | None
    """How far CLOCK_REALTIME may be from true time; None where nobody says."""


def exchange(ask: Callable[[], int]) -> ClockAhead:
    """How far a clock that `ask` brings, in ns, is ahead of CLOCK_MONOTONIC here: by the quickest of a few answers."""
    answers = []
    for _ in range(EXCHANGES):
        asked = time.monotonic_ns()
        told = ask()
        answered = time.monotonic_ns()
        answers.append(((answered - asked + 1) // 2, told - (asked + answered) // 2))
    half_ns, ahead_ns = min(answers)
    return ClockAhead(ahead_ns, half_ns + 1, "exchange")


def compare(one: Clock, other: Clock) -> ClockAhead:
    """How far another machine's clock is ahead of one's."""
    asked = ClockAhead(
        other.ahead.ahead_ns - one.ahead.ahead_ns, one.ahead.error_ns + other.ahead.error_ns, "exchange"
    )
    if one.time_of_day_error_ns is None or other.time_of_day_error_ns is None:
        return asked
    disciplined = ClockAhead(
        one.time_of_day_ahead_ns - other.time_of_day_ahead_ns,
        one.time_of_day_error_ns + other.time_of_day_error_ns + 2 * READ_ERROR_NS,
        "chrony",
    )
    is_better = disciplined.error_ns < asked.error_ns and agree(disciplined, asked)
    return disciplined if is_better else asked


def agree(one: ClockAhead, other: ClockAhead) -> bool:
    """Whether both may be right about the same clock."""
    return abs(one.ahead_ns - other.ahead_ns) <= one.error_ns + other.error_ns
