"""Committed trials replayed into a controller of the library's search (MLRsearch).

The library drives its measurer, and here a campaign drives: so a controller of its own takes the trials there are
one after the other, as if they were measured now, and then asks for the next one or ends.
"""

import math
from collections.abc import Sequence
from typing import Final

from MLRsearch import (
    AbstractMeasurer,
    Config,
    GoalResult,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

from vtax.statistics.search import Bounds, Outcome, ReplayError, Search, Step

INITIAL_TRIAL_S: Final = 1.0
"""Trials of the coarser targets that come first are this long, or as long as the final ones where these are shorter."""
PRECEDING_TARGETS: Final = 2
EXPANSION: Final = 2
"""As FD.io CSIT sets them."""


def replay(search: Search, outcomes: Sequence[Outcome]) -> Step | list[Bounds]:
    """Return the step after these trials, or the bounds of each goal, in the goals' order, where the search has ended.

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


def _bounds(name: str, loss_ratio: float, found: GoalResult) -> Bounds:
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
