"""The order of a campaign: a split-plot design from a stored seed.

A block is one repetition of every cell. Within it whole plots (a platform with its settings: what needs a guest
started) come in random order, and cells in random order within a plot, so that drift of the machine does not
become an effect of a factor.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.scenario import Cell


@dataclass(frozen=True)
class Plot:
    """Cells of a block that share one built testbed and one guest, in the order they are measured."""

    key: str
    cells: tuple[Cell, ...]


def plan_block(cells: Sequence[Cell], seed: int, block: int) -> list[Plot]:
    """The plots of one block, in order; the same for the same cells, seed and block."""
    order = random.Random(f"{seed}/{block}")  # noqa: S311 - a reproducible order, no secret
    plots: dict[str, list[Cell]] = {}
    for cell in cells:
        plots.setdefault(cell.plot, []).append(cell)
    keys = list(plots)
    order.shuffle(keys)
    block_plots = []
    for key in keys:
        members = plots[key]
        order.shuffle(members)
        block_plots.append(Plot(key, tuple(members)))
    return block_plots
