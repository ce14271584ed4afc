"""Loads by their loss: the search of RFC 9971 (MLRsearch), a trial at a time.

A campaign commits each trial before the next begins, and goes on after a kill. So every step replays the committed
trials (`vtax.statistics.replay`), and the same trials lead to the same step.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Search:
    """What is searched: `loss_ratios` by the goals' names; the attributes of RFC 9971 that all goals share."""

    loss_ratios: dict[str, float]
    relative_width: float
    exceed_ratio: float
    final_trial_s: float
    duration_sum_s: float
    min_mbps: float
    max_mbps: float


@dataclass(frozen=True)
class Step:
    """A trial that is wanted next: the intended load of each stream, and how long it is measured."""

    intended_mbps: float
    duration_s: float


@dataclass(frozen=True)
class Outcome:
    """A usable trial of the search: its load, and how many of the frames that were to be sent arrived."""

    intended_mbps: float
    frames_intended: int
    frames_sent: int
    frames_received: int


@dataclass(frozen=True)
class Bounds:
    """What was found for a goal, loads of each stream.

    `lower_mbps` is the relevant lower bound, None where even the least load lost too much; `upper_mbps` the
    relevant upper one, None where the largest load did not. `conditional_mbps` is the conditional throughput:
    what was forwarded at the lower bound, by the worst of the trials that made it one.
    """

    goal: str
    loss_ratio: float
    lower_mbps: float | None
    upper_mbps: float | None
    conditional_mbps: float | None


class ReplayError(Exception):
    """The trials are not those that this search makes."""
