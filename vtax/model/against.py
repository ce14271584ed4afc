"""What cells differ by from the same cell of their reference platform, paired within blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.model.cell import Cell
from vtax.model.estimate import Estimate
from vtax.model.metric import Metric
from vtax.model.platform import Platform, references


@dataclass(frozen=True)
class Added:
    """What a cell has more of a metric than its reference: raw's cell, or that of the first emulated platform."""

    cell: Cell
    reference: str
    added: Estimate

    @property
    def key(self) -> str:
        """The cell's."""
        return self.cell.key


def added_to_reference(cells: Sequence[Cell], metric: Metric, platforms: Sequence[Platform]) -> list[Added]:
    """Return a row a cell whose reference was measured in the same blocks, in the order of `cells`."""
    pairs = references(platforms)
    by_place = {(cell.platform, cell.setting, cell.level, cell.uut_context): cell for cell in cells}
    rows = []
    for cell in cells:
        reference = pairs.get(cell.platform)
        if reference is None:
            continue
        other = by_place.get((reference, cell.setting, cell.level, cell.uut_context))
        own, theirs = cell.sample(metric), other.sample(metric) if other else None
        added = own.difference(theirs) if own and theirs else None
        if added is not None:
            rows.append(Added(cell, reference, added))
    return rows
