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
from vtax.results import Result, Row
from vtax.scenario import Ab, Scenario
from vtax.scenario.names import Key

LEAST_QUADS = 3
"""No interval that holds at any number of values can be formed of fewer."""


@dataclass(frozen=True)
class Standing:
    """How many of the comparisons are decided, and the keys of the cells of all others."""

    decided: int
    of: int
    open: frozenset[str]


class Judging(Protocol):
    """Tells how cells stand that are measured by turns."""

    def __call__(self, result: Result, blocks: int) -> Standing:
        """Look at the trials of the first so many blocks of a result, and at no other."""


@dataclass(frozen=True)
class Referee:
    """Judges the result in a directory, whose campaign runs, and tells whoever watches."""

    directory: Path
    judging: Judging
    note: Callable[[str], None]

    def judge(self, blocks: int) -> Standing:
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
        self._standing: dict[int, Standing] = {}
        self._began_s = clock()
        self._before_s: float | None = None
        self._quad_began_s: float | None = None
        self._budget_s = math.inf if settings.budget_s is None else settings.budget_s

    def next(self, block: int, cell: Cell, state: CampaignState) -> Cell | None:
        """The cell itself, or the first of its runs that is wanted, while it is open."""
        if cell.key not in self._wanted(block // 2):
            return None
        return next((trial for trial in cell.trials if state.wants(block, trial.place)), None)

    def ended(self, block: int, state: CampaignState) -> bool:
        """Whether no cell is open, or another quad as long as the last one would end after the budget.

        A quad that has begun is finished.
        """
        if self._referee is None:
            return True
        if block % 2:
            return False
        begins = all(at != block for at, _ in state.usable)
        wanted, now_s = self._wanted(block // 2, tell=begins), self._spent_s(state)
        if self._quad_began_s is not None and now_s + now_s - self._quad_began_s > self._budget_s:
            return True
        self._quad_began_s = now_s
        return not wanted

    def found(self, block: int, cell: Cell, state: CampaignState) -> list[Row]:
        """Nothing is searched."""
        return []

    def measured(self, cell: Cell, state: CampaignState) -> bool:
        """Whether some trial of it is usable."""
        return any(state.received_mbps(trial.place) for trial in cell.trials)

    def _spent_s(self, state: CampaignState) -> float:
        """The time since it began, and that of the trials before, of a campaign that goes on."""
        if self._before_s is None:
            self._before_s = state.wall_s
        return self._before_s + self._clock() - self._began_s

    def _wanted(self, quad: int, *, tell: bool = False) -> frozenset[str]:
        """The open cells of a quad, judged once; before there are enough to judge by, all are."""
        if self._referee is None:
            return frozenset()
        if quad < LEAST_QUADS:
            return self._all
        if quad not in self._standing:
            standing = self._standing[quad] = self._referee.judge(2 * quad)
            if tell:
                decided = f"{standing.decided} of {standing.of} rules on cells are decided"
                self._referee.note(f"after {quad} quads: {decided}")
        return self._standing[quad].open


def check_levels(scenario: Scenario, cells: Sequence[Cell], platforms: PlatformSet) -> None:
    """Raise InputError where one level alone has an emulated CPU: a change would be the emulator's."""
    if scenario.file.ab is None:
        return
    factor = Key.parse(scenario.file.ab.by).column
    emulated: dict[bool, str] = {}
    for cell in cells:
        emulated.setdefault(platforms.probe_of(cell).emulated, str(cell.factors[factor]))
    if len(emulated) == 2:
        raise InputError(
            f"{scenario.where('ab', 'by')}: {factor}={emulated[True]} has an emulated CPU here and "
            f"{factor}={emulated[False]} has not: a change would be the emulator's, and no platform's; name two levels "
            "that both have one, or neither"
        )
