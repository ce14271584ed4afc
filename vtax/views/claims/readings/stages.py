"""Of packets that were followed: the mean delay of each stage, on each host and way."""

from __future__ import annotations

from msgspec.structs import asdict

from vtax.model import numbers
from vtax.model.quantity import Quantity
from vtax.results import Result
from vtax.statistics import COUNTED, total_interval
from vtax.views.claims.sample import Sample, StageSample
from vtax.views.levels import held, levels
from vtax.views.provenance import Provenance
from vtax.views.stages import TracedLevels, merged, read_traced, stage_blocks

STAGE_NS = Quantity("stage_ns", "µs", numbers.microseconds)
COORDINATES = ("stage", "host", "way")

QUANTITIES = (STAGE_NS,)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a stage of a cell, a host and a direction of it."""
    base = held(result)
    cells = read_traced(result, provenance.names)
    if not cells:
        return {}
    samples: list[Sample] = []
    for cell, (host, direction, stage), blocks in stage_blocks(result, cells):
        samples.append(
            StageSample(
                repeated=total_interval,
                levels=levels(
                    base,
                    cell.platform,
                    {**asdict(cell.setting.of(TracedLevels)), "stage": stage, "host": host, "way": direction},
                    cell.setting.further,
                ),
                emulated=provenance.platform(cell.platform).emulated,
                values={block.block: block.mean_ns for block in blocks},
                recorded=cell.recorded,
                invalid=cell.invalid,
                resolution=COUNTED,
                packets={block.block: merged(block.histograms) for block in blocks},
            )
        )
    return {STAGE_NS.name: samples}
