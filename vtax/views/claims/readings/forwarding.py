"""Of forwarded frames: throughput by load and its largest, loss, CPU time, and how evenly streams share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vtax.results import Result
from vtax.statistics import jain_index
from vtax.views import numbers
from vtax.views.bound import Limit
from vtax.views.cells import Cell, by_block, load_label, read_cells
from vtax.views.claims.levels import PlainLevel, held, levels
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import LargestSample, Levels, Sample
from vtax.views.provenance import Provenance
from vtax.views.throughput import maxima

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
    cells = [cell for cell in read_cells(result, provenance.names) if cell.blocks]

    def samples(values_of: Values, limits_of: Limits) -> list[Sample]:
        found = [(cell, values_of(cell)) for cell in cells]
        return [
            Sample(
                levels=_levels(base, cell, load_label(cell.intended_mbps)),
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
            lambda cell: by_block(cell.blocks, cell.received_mbps), lambda cell: cell.throughput_limits
        ),
        LOSS_RATIO.name: samples(lambda cell: by_block(cell.blocks, cell.loss_ratio), _load_limits),
        HOST_PERCENT.name: samples(lambda cell: by_block(cell.blocks, cell.host_percent), _load_limits),
        STREAM_FAIRNESS.name: samples(_fairness, lambda _: {}),
    }


def _load_limits(cell: Cell) -> Mapping[int, Limit]:
    """More load than its source had could be lost more, and cost more."""
    return by_block(cell.blocks, cell.load_limits)


def _levels(base: Levels, cell: Cell, load: str | None) -> Levels:
    """Guests behind one link have a stream each, whose number is theirs."""
    setting = cell.setting
    parallel = "guests" if base.get("uplink") == "shared" else "streams"
    own: Mapping[str, PlainLevel] = {
        "frame_bytes": setting.frame_mix or setting.frame_bytes,
        parallel: setting.streams,
        "uut_context": cell.uut_context,
        **({} if load is None else {"intended_mbps": load}),
    }
    return levels(base, cell.platform, own, setting.further)


def _fairness(cell: Cell) -> dict[int, float]:
    """Jain's index of the streams' throughput by block, where all of them were received in it."""
    streams = list(cell.stream_received_mbps.values())
    if len(streams) < 2 or any(len(each) != len(cell.blocks) for each in streams):
        return {}
    indices = [jain_index(list(values)) for values in zip(*streams, strict=True)]
    return by_block(cell.blocks, indices)
