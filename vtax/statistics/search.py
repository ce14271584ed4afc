"""Loads by their loss: the search of RFC 9971 (MLRsearch), a trial at a time.

The library drives its measurer. Here a campaign drives: it commits each trial before the next begins, and goes on
after a kill. So every step replays the committed trials into a controller of its own, which then asks for the next
one or ends. The same trials lead to the same step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

INITIAL_TRIAL_S: Final = 1.0
"""Trials of the coarser targets that come first are this long, or as long as the final ones where these are shorter."""
PRECEDING_TARGETS: Final = 2
EXPANSION: Final = 2
"""As FD.io CSIT sets them."""


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


def advance(search: Search, outcomes: Sequence[Outcome]) -> Step | list[Bounds]:
    """Return the step after these trials, or the bounds of each goal, in the goals' order, where it has ended.

    Raises ReplayError where `outcomes` are of another search, or of another version of the library.
    """
    duration_sum_s = max(search.duration_sum_s, search.final_trial_s)
    goals = {
        name: SearchGoal(
            loss_ratio=loss_ratio,
            exceed_ratio=search.exceed_ratio,
            relative_width=search.relative_width,
            initial_trial_duration=min(INITIAL_TRIAL_S, search.final_trial_s),
            final_trial_duration=search.final_trial_s,
            duration_sum=duration_sum_s,
            preceding_targets=PRECEDING_TARGETS,
            expansion_coefficient=EXPANSION,
            fail_fast=False,
        )
        for name, loss_ratio in search.loss_ratios.items()
    }
    config = Config(
        goals=list(goals.values()),
        min_load=search.min_mbps,
        max_load=search.max_mbps,
        search_duration_max=math.inf,
        warmup_duration=None,
    )
    replay = _Replay(outcomes)
    try:
        found = MultipleLossRatioSearch(config=config).search(measurer=replay, debug=_silent)
    except _Wanted as wanted:
        return wanted.step
    if replay.used < len(outcomes):
        raise ReplayError(f"the search ends after {replay.used} trials, and there are {len(outcomes)}")
    return [_bounds(name, goals[name].loss_ratio, found[goals[name]]) for name in goals]


class _Wanted(Exception):  # noqa: N818 - it carries the controller's next wish out of the library
    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step


class _Replay(AbstractMeasurer):  # type: ignore[misc]
    """A measurer that hands out the trials there are, and stops the controller at the first that is missing."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._outcomes = outcomes
        self.used = 0

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        if self.used == len(self._outcomes):
            raise _Wanted(Step(intended_load, intended_duration))
        outcome = self._outcomes[self.used]
        if outcome.intended_mbps != intended_load:
            raise ReplayError(
                f"trial {self.used + 1} of the search was at {outcome.intended_mbps:g} Mbit/s; "
                f"this search wants it at {intended_load:g}"
            )
        self.used += 1
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=outcome.frames_intended,
            offered_count=outcome.frames_sent,
            forwarding_count=outcome.frames_received,
        )


def _bounds(name: str, loss_ratio: float, found: Any) -> Bounds:
    lower, upper = found.relevant_lower_bound, found.relevant_upper_bound
    conditional = found.conditional_throughput
    return Bounds(
        name,
        loss_ratio,
        None if lower is None else float(lower),
        None if upper is None else float(upper),
        None if conditional is None else float(conditional),
    )


def _silent(_: str) -> None:
    """The library tells what it does in the root logger otherwise."""
