"""Of cells: the quantities of them that the kind of workload's catalogue names."""

from __future__ import annotations

from vtax.model.catalogue import Catalogue
from vtax.model.cell import UNKNOWN_CONTEXT, Cell
from vtax.model.reading import read_cells
from vtax.results import Result
from vtax.views.claims.sample import Sample
from vtax.views.levels import Levels, held, levels
from vtax.views.provenance import Provenance


def read(catalogue: Catalogue, result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """Return a sample of each quantity for each cell that has it."""
    base = held(result)
    cells = read_cells(result, catalogue.reading, catalogue.shown, provenance.names)
    found: dict[str, list[Sample]] = {}
    for quantity in catalogue.claimed:
        if quantity.sample is None:
            continue
        found[quantity.name] = [
            Sample(
                levels=levels_of(base, cell),
                emulated=provenance.platform(cell.platform).emulated,
                values=sample.values,
                recorded=sample.recorded,
                invalid=sample.invalid,
                resolution=sample.resolution,
                repeated=sample.repeated,
                limits=sample.limits,
            )
            for cell in cells
            if (sample := quantity.sample(cell)) is not None
        ]
    return found


def levels_of(base: Levels, cell: Cell, *, of_all_levels: bool = False) -> Levels:
    """Return what a cell is told apart by; where it stands for all levels of its kind's dimension, without its own."""
    context = {} if cell.uut_context == UNKNOWN_CONTEXT else {"uut_context": cell.uut_context}
    level = {} if of_all_levels else cell.level_by_column
    own = {**cell.setting.levels.factors(base), **level, **context}
    return levels(base, cell.platform, own, cell.setting.further)
