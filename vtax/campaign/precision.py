"""Repeats cells until their intervals are narrow enough; those that are take no part in later blocks.

The intervals are confidence sequences: they hold whenever one stops for what they show. They are those that views show:
wider by the steps of throughput, and for repetitions that are like the one before. Where it is the maximum over loads
that is asked for, loads that cannot change its interval drop out.
"""

import math
from collections.abc import Sequence

from vtax.campaign.state import CampaignState
from vtax.keys.cell import Cell
from vtax.results import Row
from vtax.scenario import Precision
from vtax.statistics import PER_MILLE, Interval, adaptive_throughput, climb, load_cap, relative_width

TRIED_BLOCKS = 3
"""Blocks after which a cell without a usable trial is given up."""


class Precise:
    """The mode of a scenario with `precision`."""

    def __init__(self, settings: Precision, cells: Sequence[Cell]) -> None:
        self._settings = settings
        self._loads: dict[str, list[Cell]] = {}
        for cell in cells:
            self._loads.setdefault(_without_load(cell), []).append(cell)

    def next(self, block: int, cell: Cell, state: CampaignState) -> Cell | None:
        """The cell, while the interval that it serves is too wide."""
        if self._over_budget(state) or not state.wants(block, cell.place):
            return None
        return cell if cell.key in self._wanted(cell, block, state) else None

    def ended(self, block: int, state: CampaignState) -> bool:
        """Whether every interval is narrow enough, or the budget is spent."""
        cells = [cell for loads in self._loads.values() for cell in loads]
        return self._over_budget(state) or not any(self._wanted(cell, block, state) for cell in cells)

    def found(self, block: int, cell: Cell, state: CampaignState) -> list[Row]:
        """Nothing is searched."""
        return []

    def measured(self, cell: Cell, state: CampaignState) -> bool:
        """Whether some trial of it is usable."""
        return bool(state.received_mbps(cell.place))

    def _over_budget(self, state: CampaignState) -> bool:
        budget_s = self._settings.budget_s
        return budget_s is not None and state.wall_s >= budget_s

    def _wanted(self, cell: Cell, block: int, state: CampaignState) -> set[str]:
        """The cells to be measured again for the interval that `cell` serves.

        One that has no usable trial after three blocks is given up. A load that offered less than another carries is
        not the largest; of all others `least` values are taken, since few that happen to be alike tell nothing.
        """
        loads = self._loads[_without_load(cell)] if self._settings.of == "maximum" else [cell]
        values = {load.key: state.received_mbps(load.place) for load in loads}
        unmeasured = {key for key, known in values.items() if not known}
        if unmeasured and block < TRIED_BLOCKS:
            return unmeasured
        known = {key: received for key, received in values.items() if received}
        if not known:
            return set()
        if self._settings.of == "throughput":
            return set() if self._enough(adaptive_throughput(known[cell.key])) else {cell.key}
        caps = {
            load.key: load_cap(load.frame_load.intended_mbps, load.streams)
            for load in loads
            if load.frame_load.intended_mbps is not None
        }
        ladder = climb(known, caps)
        carried = max(ladder.low.values())
        short = {
            key
            for key, received in known.items()
            if len(received) < self._settings.least and caps.get(key, math.inf) > carried
        }
        if short or self._enough(ladder.interval):
            return short
        return ladder.wanted(self._settings.relative_width - 2 * PER_MILLE.share)

    def _enough(self, interval: Interval) -> bool:
        width = relative_width(PER_MILLE.of_mean(interval))
        narrow = width is not None and width <= self._settings.relative_width
        return narrow and interval.n >= self._settings.least


def _without_load(cell: Cell) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.factors.items() if name != "intended_mbps")
