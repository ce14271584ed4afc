"""Of cells that are loads: the largest throughput over the loads, which no cell has alone."""

from __future__ import annotations

from vtax.model.frames import MAXIMUM_MBPS
from vtax.model.reading import read_cells
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.views.claims.readings.cells import levels_of
from vtax.views.claims.sample import LargestSample, Sample
from vtax.views.levels import held
from vtax.views.provenance import Provenance
from vtax.views.throughput import STEPS, maxima


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """Return a sample a setting."""
    base, catalogue = held(result), CATALOGUES[provenance.kind]
    return {
        MAXIMUM_MBPS.name: [
            LargestSample(
                levels=levels_of(base, each.cell, of_all_levels=True),
                emulated=provenance.platform(each.platform).emulated,
                values={},
                recorded=each.cell.recorded,
                invalid=each.cell.invalid,
                resolution=STEPS,
                repeated=each.cell.repeated(),
                maximum=each,
            )
            for each in maxima(read_cells(result, catalogue.reading, catalogue.shown, provenance.names))
        ]
    }
