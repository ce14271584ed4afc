"""Of the kinds of workload with a catalogue: what it says that claims are about."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import asdict

from vtax.model.catalogue import Catalogue
from vtax.model.cell import Cell, read_cells
from vtax.results import Result
from vtax.views.claims.levels import PlainLevel, held, levels
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import Levels, Sample
from vtax.views.provenance import Provenance


def quantities(catalogue: Catalogue) -> tuple[Quantity, ...]:
    """Return what claims of that kind are about."""
    return tuple(Quantity(name, metric.unit, metric.form) for name, metric in catalogue.claimed.items())


def read(catalogue: Catalogue, result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """Return a sample of each quantity for each cell that has it."""
    base = held(result)
    cells = read_cells(result, catalogue.reading, [*catalogue.claimed.values()], provenance.names)
    found: dict[str, list[Sample]] = {}
    for name, metric in catalogue.claimed.items():
        found[name] = [
            Sample(
                levels=_levels(base, cell),
                emulated=provenance.platform(cell.platform).emulated,
                values=sample.values,
                recorded=sample.recorded,
                invalid=sample.invalid,
                mean=sample.mean,
                limits=sample.limits,
            )
            for cell in cells
            if (sample := cell.sample(metric)) is not None
        ]
    return found


def _levels(base: Levels, cell: Cell) -> Levels:
    own: Mapping[str, PlainLevel] = {
        **asdict(cell.setting.levels),
        **cell.level_by_column,
    }
    return levels(base, cell.platform, own, cell.setting.further)
