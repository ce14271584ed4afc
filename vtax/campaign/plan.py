"""The order of a campaign: a split-plot design from a stored seed.

A block is one repetition of every cell. Within it whole plots (a platform with its settings: what needs a guest
started) come in random order, and cells in random order within a plot, so that drift of the machine does not
become an effect of a factor.
"""

import random
from collections.abc import Callable, Sequence

from vtax.keys.cell import Cell
from vtax.keys.fields import Scalar
from vtax.scenario import Scenario
from vtax.scenario.names import Key
from vtax.trial.workload import BuildGroup

Plan = Callable[[Sequence[Cell], int, int], list[BuildGroup]]
"""The groups of a block, in order, of these cells, a seed and the block's number; the same for the same."""


def plan_of(scenario: Scenario) -> Plan:
    """Return the order that a scenario asks for."""
    if (ab := scenario.file.ab) is None:
        return plan_block
    factor = Key.parse(ab.by).column
    return lambda cells, seed, block: plan_turns(cells, seed, block, factor)


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


def plan_turns(cells: Sequence[Cell], seed: int, block: int, factor: str) -> list[BuildGroup]:
    """The groups of one block of a quad, whose two levels of `factor` adjoin; each level has guests of its own.

    A quad is two blocks, A B and B A or the other way round, as drawn for each pair of groups: whatever rises or falls
    evenly meanwhile is in both levels alike. A cell whose other level is not among `cells` is left out: it would be
    compared with nothing.
    """
    quad, second = divmod(block, 2)
    order = random.Random(f"{seed}/{quad}")  # noqa: S311 - a reproducible order, no secret
    twins: dict[Counterpart, list[Cell]] = {}
    for cell in cells:
        twins.setdefault(counterpart(cell, factor), []).append(cell)
    plots: dict[str, list[list[Cell]]] = {}
    for both in twins.values():
        if len(both) == 2:
            plots.setdefault(both[0].plot, []).append(both)
    pairs = list(plots.values())
    order.shuffle(pairs)
    groups = []
    for pair in pairs:
        order.shuffle(pair)
        turned = order.random() < 0.5
        levels = [tuple(side) for side in zip(*pair, strict=True)]
        for level in reversed(levels) if turned != bool(second) else levels:
            groups.append(BuildGroup(level[0].plot, level))
    return groups


Counterpart = tuple[tuple[str, Scalar | None], ...]
"""What a cell shares with the one that has the other level of a factor."""


def counterpart(cell: Cell, factor: str) -> Counterpart:
    """Return every factor of a cell but one, with its value."""
    return tuple((name, value) for name, value in cell.factors.items() if name != factor)
