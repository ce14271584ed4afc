"""Which trial a campaign makes next.

A function of what is committed, so that a resumed campaign goes on as it would have.
"""

from collections.abc import Sequence
from typing import Protocol

from vtax.campaign.precision import Precise
from vtax.campaign.search import Searching
from vtax.campaign.state import CampaignState
from vtax.campaign.turns import Referee, Turns
from vtax.keys.cell import Cell
from vtax.results import Row
from vtax.scenario import Scenario


class Mode(Protocol):
    """How a campaign goes through its blocks."""

    def next(self, block: int, cell: Cell, state: CampaignState) -> Cell | None:
        """The trial that `cell` of the grid is to be measured with next in this block; None where no more is."""

    def ended(self, block: int, state: CampaignState) -> bool:
        """Whether neither this block nor a later one has a trial left."""

    def found(self, block: int, cell: Cell, state: CampaignState) -> list[Row]:
        """Rows of `searches` that the last trial of `cell` in this block decided."""

    def measured(self, cell: Cell, state: CampaignState) -> bool:
        """Whether there is a result for `cell`."""


class Fixed:
    """Every cell in every block: once, or as often in a row as its workload says."""

    def next(self, block: int, cell: Cell, state: CampaignState) -> Cell | None:
        """The cell itself, or the first of its runs that is wanted."""
        return next((trial for trial in cell.trials if state.wants(block, trial.place)), None)

    def ended(self, block: int, state: CampaignState) -> bool:
        """The number of blocks is fixed."""
        return False

    def found(self, block: int, cell: Cell, state: CampaignState) -> list[Row]:
        """Nothing is searched."""
        return []

    def measured(self, cell: Cell, state: CampaignState) -> bool:
        """Whether some trial of it is usable."""
        return any(state.received_mbps(trial.place) for trial in cell.trials)


def mode_of(scenario: Scenario, cells: Sequence[Cell], referee: Referee | None = None) -> Mode:
    """The mode that a scenario asks for; of levels by turns, the `referee` tells which cells are still open."""
    if scenario.file.precision is not None:
        return Precise(scenario.file.precision, cells)
    if scenario.file.search is not None:
        return Searching(scenario.file.search)
    if scenario.file.ab is not None and not scenario.file.ab.fixed:
        return Turns(scenario.file.ab, cells, referee)
    return Fixed()


def is_done(mode: Mode, blocks: Sequence[int], cells: Sequence[Cell], state: CampaignState) -> bool:
    """Whether none of these cells is to be measured again in any of these blocks."""
    for block in blocks:
        if mode.ended(block, state):
            return True
        if any(mode.next(block, cell, state) is not None for cell in cells):
            return False
    return True
