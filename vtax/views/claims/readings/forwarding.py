"""Of forwarded frames: throughput by load and its largest, loss, CPU time, and how evenly streams share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vtax.model import metrics, numbers
from vtax.model.bound import Limit
from vtax.model.cell import Cell, read_cells
from vtax.model.dimensions import load_label
from vtax.results import Result
from vtax.statistics import jain_index
from vtax.views.claims.levels import PlainLevel, held, levels
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import LargestSample, Levels, Sample
from vtax.views.provenance import Provenance
from vtax.views.throughput import maxima
from vtax.workloads.forwarding.catalogue import CATALOGUE, frame_levels, load_limits, throughput_limits

MAXIMUM_MBPS = Quantity("maximum_mbps", "Mbit/s", numbers.mbps)
THROUGHPUT_MBPS = Quantity("throughput_mbps", "Mbit/s", numbers.mbps)
LOSS_RATIO = Quantity("loss_ratio", "%", numbers.ratio_as_percent)
HOST_PERCENT = Quantity("host_percent", "% CPU", numbers.percent)
STREAM_FAIRNESS = Quantity("stream_fairness", "", numbers.ratio)

Values = Callable[[Cell], Mapping[int, float]]
Limits = Callable[[Cell], Mapping[int, Limit]]

QUANTITIES = (MAXIMUM_MBPS, THROUGHPUT_MBPS, LOSS_RATIO, HOST_PERCENT, STREAM_FAIRNESS)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell, of the maximum one a setting."""
    base = held(result)
    read = read_cells(result, CATALOGUE.reading, CATALOGUE.shown, provenance.names)
    cells = [cell for cell in read if cell.is_usable]

    def samples(values_of: Values, limits_of: Limits) -> list[Sample]:
        found = [(cell, values_of(cell)) for cell in cells]
        return [
            Sample(
                levels=_levels(base, cell, load_label(cell.level)),
                emulated=provenance.platform(cell.platform).emulated,
                values=values,
                recorded=cell.recorded,
                invalid=cell.invalid,
                mean=cell.mean,
                limits=limits_of(cell),
            )
            for cell, values in found
            if values
        ]

    largest = [
        LargestSample(
            levels=_levels(base, each.cell, None),
            emulated=provenance.platform(each.platform).emulated,
            values={},
            recorded=each.cell.recorded,
            invalid=each.cell.invalid,
            mean=each.cell.mean,
            maximum=each,
        )
        for each in maxima(cells)
    ]
    return {
        MAXIMUM_MBPS.name: list(largest),
        THROUGHPUT_MBPS.name: samples(
            lambda cell: cell.by_block(metrics.THROUGHPUT.column), throughput_limits
        ),
        LOSS_RATIO.name: samples(lambda cell: cell.by_block(metrics.LOSS.column), load_limits),
        HOST_PERCENT.name: samples(lambda cell: cell.by_block(metrics.CPU.column), load_limits),
        STREAM_FAIRNESS.name: samples(_fairness, lambda _: {}),
    }


def _levels(base: Levels, cell: Cell, load: str | None) -> Levels:
    """Guests behind one link have a stream each, whose number is theirs."""
    setting = frame_levels(cell.setting)
    parallel = "guests" if base.get("uplink") == "shared" else "streams"
    own: Mapping[str, PlainLevel] = {
        "frame_bytes": setting.frame_mix or setting.frame_bytes,
        parallel: setting.streams,
        "uut_context": cell.uut_context,
        **({} if load is None else {"intended_mbps": load}),
    }
    return levels(base, cell.platform, own, cell.setting.further)


def _fairness(cell: Cell) -> dict[int, float]:
    """Jain's index of the streams' throughput by block, where all of them were received in it."""
    streams = [part.by_block for part in cell.parts.values()]
    if len(streams) < 2 or any(len(each) != len(cell.blocks) for each in streams):
        return {}
    indices = ((block, jain_index([each[block] for each in streams])) for block in cell.blocks)
    return {block: index for block, index in indices if index is not None}
