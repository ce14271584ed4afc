"""Measures two levels of a factor by turns, until the rules on each cell are decided.

Two blocks are a quad: A B, then B A, or the other way round. After each quad a referee names the cells that are
still open; the others take no part in the next. The intervals that it goes by hold at every number of quads, so that
one may stop for what they show.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vtax.campaign.platform_set import PlatformSet
from vtax.campaign.state import CampaignState
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.model.rule_progress import RuleProgress
from vtax.results import Result, Row
from vtax.scenario import Ab, Scenario
from vtax.scenario.names import Key

LEAST_QUADS = 3
"""No interval that holds at any number of values can be formed of fewer."""
NAMED = 3
"""So many open cells are named in a line of progress."""


class Judging(Protocol):
    """Judges the cells of a campaign by turns."""

    def __call__(self, result: Result, blocks: int) -> RuleProgress:
        """Look at the trials of the first so many blocks of a result, and at no other."""


@dataclass(frozen=True)
class Referee:
    """Judges the result in a directory, whose campaign runs, and tells whoever watches how far it is."""

    directory: Path
    judging: Judging
    standing: Callable[[str], None]

    def judge(self, blocks: int) -> RuleProgress:
        """Look at the first so many blocks that are committed."""
        return self.judging(Result.open(self.directory), blocks)


class Turns:
    """The mode of a scenario with `ab`; without a referee what is committed is all there is to be."""

    def __init__(
        self,
        settings: Ab,
        cells: Sequence[Cell],
        referee: Referee | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._referee = referee
        self._clock = clock
        self._all = frozenset(cell.key for cell in cells)
        self._judged: dict[int, RuleProgress] = {}
        self._began_s = clock()
        self._before_s: float | None = None  # of the trials before, of a campaign that goes on
        self._began_quads: dict[int, float] = {}
        self._budget_s = math.inf if settings.budget_s is None else settings.budget_s

    def next(self, block: int, cell: Cell, state: CampaignState) -> Cell | None:
        """The cell itself, or the first of its runs that is wanted, while it is open."""
        if cell.key not in self._wanted(block // 2):
            return None
        if not _has_begun(block, state):
            self._began_quads[block // 2] = self._clock()
        return next((trial for trial in cell.trials if state.wants(block, trial.place)), None)

    def ended(self, block: int, state: CampaignState) -> bool:
        """Whether no cell is open, or another quad as long as the last one would end after the budget.

        A quad that has begun is finished, and the first one is measured whatever the budget.
        """
        if self._referee is None:
            return True
        if self._before_s is None:
            self._before_s = state.wall_s
        if block % 2 or _has_begun(block, state):
            return not self._wanted(block // 2)
        wanted, now_s = self._wanted(block // 2, tell=True), self._clock()
        last_s = now_s - self._began_quads.get(block // 2 - 1, now_s)
        if block and self._spent_s() + last_s > self._budget_s:
            return True
        return not wanted

    def _spent_s(self) -> float:
        """What was spent of the budget: the trials of the campaign that goes on, and the time since then."""
        return (self._before_s or 0.0) + self._clock() - self._began_s

    def found(self, block: int, cell: Cell, state: CampaignState) -> list[Row]:
        """Nothing is searched."""
        return []

    def measured(self, cell: Cell, state: CampaignState) -> bool:
        """Whether some trial of it is usable."""
        return any(state.received_mbps(trial.place) for trial in cell.trials)

    def _wanted(self, quad: int, *, tell: bool = False) -> frozenset[str]:
        """The open cells of a quad, judged once; before there are enough to judge by, all are."""
        if self._referee is None:
            return frozenset()
        if quad < LEAST_QUADS:
            return self._all
        if quad not in self._judged:
            found = self._judged[quad] = self._referee.judge(2 * quad)
            if tell:
                self._referee.standing(_standing(quad, found, self._budget_s - self._spent_s()))
        return self._judged[quad].open


def _has_begun(block: int, state: CampaignState) -> bool:
    """Whether a trial of the block's quad is committed."""
    return any(at // 2 == block // 2 for at, _ in state.usable)


def _standing(quads: int, found: RuleProgress, left_s: float) -> str:
    """How many rules are decided, which cells are open, and what is left of the budget for them."""
    decided = f"{quads} quads: {found.decided} of {found.of} rules on cells decided"
    if not found.open:
        return decided
    shown, more = found.names[:NAMED], len(found.names) - NAMED
    cells = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    left = "" if math.isinf(left_s) else f"; {_time(max(0.0, left_s))} left"
    return f"{decided}{left}; open: {cells}"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def check_levels(scenario: Scenario, cells: Sequence[Cell], platforms: PlatformSet) -> None:
    """Raise InputError where one level alone has an emulated CPU: a change would be the emulator's."""
    if scenario.file.ab is None:
        return
    factor = Key.parse(scenario.file.ab.by).column
    emulated: dict[str, set[bool]] = {}
    for cell in cells:
        emulated.setdefault(str(cell.factors[factor]), set()).add(platforms.probe_of(cell).emulated)
    if len(levels := [*emulated]) == 2 and emulated[levels[0]] != emulated[levels[1]]:
        one, other = sorted(levels, key=lambda level: True not in emulated[level])
        raise InputError(
            f"{scenario.where('ab', 'by')}: {factor}={one} has an emulated CPU here and {factor}={other} has not: a "
            "change would be the emulator's, and no platform's; name two levels that both have one, or neither"
        )
