"""Searches loads by their loss: each trial of a search is committed as any other, its bounds with the last one."""

from vtax.campaign.state import CampaignState, Trial
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.results import Row
from vtax.scenario import Search
from vtax.scenario.modes import largest_load
from vtax.statistics.search import Bounds, Outcome, ReplayError, Step
from vtax.statistics.search import Search as Goals
from vtax.trial.frames.limits import (
    GENERATOR_LIMITED,
    LIMIT_UNKNOWN,
    LINK_LIMITED,
    OFFERED_TOLERANCE,
    UPLINK_LIMITED,
)
from vtax.units import fps

ATTEMPTS = 10
"""How often an invalid trial is measured in all: with it the whole search would be lost."""
LIMITS = {GENERATOR_LIMITED, LINK_LIMITED, LIMIT_UNKNOWN}


class Searching:
    """The mode of a scenario with `search`: a block is one search of every cell."""

    def __init__(self, settings: Search) -> None:
        self._settings = settings

    def next(self, block: int, cell: Cell, state: CampaignState) -> Cell | None:
        """The next trial of the cell's search; None where it has ended, or one of its trials stays invalid."""
        trials = state.steps(block, cell.key)
        if len(trials) >= self._settings.most:
            return None
        step = self._advance(cell, trials)
        if not isinstance(step, Step):
            return None
        trial = cell.at_step(len(trials), step.intended_mbps, step.duration_s)
        return trial if state.wants(block, trial.place, ATTEMPTS) else None

    def ended(self, block: int, state: CampaignState) -> bool:
        """The number of searches is fixed."""
        return False

    def found(self, block: int, cell: Cell, state: CampaignState) -> list[Row]:
        """A row for each goal when the search has ended."""
        trials = state.steps(block, cell.key)
        found = self._advance(cell, trials)
        if isinstance(found, Step):
            return []
        return [
            {
                "search": cell.key,
                "goal": bounds.goal,
                "loss_ratio": bounds.loss_ratio,
                "exceed_ratio": self._settings.exceed_ratio,
                "relative_width": self._settings.relative_width,
                "lower_mbps": bounds.lower_mbps,
                "upper_mbps": bounds.upper_mbps,
                "conditional_mbps": bounds.conditional_mbps,
                "trials": len(trials),
                "trial_s": sum(trial.warmup_s + trial.duration_s for trial in trials),
                "bounded_by": _bounded_by(bounds, trials),
            }
            for bounds in found
        ]

    def measured(self, cell: Cell, state: CampaignState) -> bool:
        """Whether one of its searches came to its end."""
        return any(not isinstance(self._advance(cell, trials), Step) for trials in state.searches(cell.key))

    def _advance(self, cell: Cell, trials: list[Trial]) -> Step | list[Bounds]:
        from vtax.statistics.replay import (
            replay,  # with its library, which takes longer than most commands do
        )

        settings = self._settings
        goals = Goals(
            loss_ratios=settings.goals,
            relative_width=settings.relative_width,
            exceed_ratio=settings.exceed_ratio,
            final_trial_s=cell.frame_load.duration_s,
            duration_sum_s=settings.duration_sum_s,
            min_mbps=settings.min_mbps,
            max_mbps=largest_load(settings, cell) or settings.min_mbps,
        )
        try:
            return replay(goals, [_outcome(cell, trial) for trial in trials])
        except ReplayError as error:
            raise InputError(
                f"the search of {cell.key} cannot go on: {error}; begin a campaign of its own"
            ) from None


def _outcome(cell: Cell, trial: Trial) -> Outcome:
    """What RFC 9971 makes of a trial: frames that were to be sent and were not count as lost.

    A source that keeps its load within the tolerance sent what it should: the last frames are those of a boundary.
    """
    intended = round(fps(trial.intended_mbps, cell.frame_load.lengths.mean) * trial.duration_s * cell.streams)
    kept = trial.frames_sent >= (1 - OFFERED_TOLERANCE) * intended
    return Outcome(
        trial.intended_mbps,
        trial.frames_sent if kept else intended,
        trial.frames_sent,
        trial.frames_received,
    )


def _bounded_by(bounds: Bounds, trials: list[Trial]) -> str | None:
    """What bounded it in the platform's stead: the largest load, or what kept the source from the upper bound."""
    if bounds.upper_mbps is None:
        return "the largest load"
    short = [
        trial
        for trial in trials
        if trial.intended_mbps == bounds.upper_mbps
        and trial.frames_sent - trial.frames_received > bounds.loss_ratio * trial.frames_sent
    ]
    marks = {mark for trial in trials if trial.intended_mbps == bounds.upper_mbps for mark in trial.marks}
    if UPLINK_LIMITED in marks:
        return UPLINK_LIMITED  # what was lost was lost before the platform
    return None if short or not marks & LIMITS else min(marks & LIMITS)
