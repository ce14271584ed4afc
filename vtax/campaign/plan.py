"""The order of a campaign: a split-plot design from a stored seed.

A block is one repetition of every cell. Within it whole plots (a platform with its settings: what needs a guest
started) come in random order, and cells in random order within a plot, so that drift of the machine does not
become an effect of a factor.
"""

import random
from collections.abc import Sequence

from vtax.keys.cell import Cell
from vtax.trial.workload import BuildGroup


def plan_block(cells: Sequence[Cell], seed: int, block: int) -> list[BuildGroup]:
    """The groups of one block, in order; the same for the same cells, seed and block."""
    order = random.Random(f"{seed}/{block}")  # noqa: S311 - a reproducible order, no secret
    members_of: dict[str, list[Cell]] = {}
    for cell in cells:
        members_of.setdefault(cell.plot, []).append(cell)
    keys = list(members_of)
    order.shuffle(keys)
    groups = []
    for key in keys:
        members = members_of[key]
        order.shuffle(members)
        groups.append(BuildGroup(key, tuple(members)))
    return groups
