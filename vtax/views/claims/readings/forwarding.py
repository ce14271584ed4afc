"""Of forwarded frames: throughput by load and its largest, loss, CPU time, and how evenly streams share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vtax.results import Result
from vtax.statistics import jain_index
from vtax.views import numbers
from vtax.views.cells import Cell, by_block, load_label, read_cells
from vtax.views.claims.levels import held, levels
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

QUANTITIES = (MAXIMUM_MBPS, THROUGHPUT_MBPS, LOSS_RATIO, HOST_PERCENT, STREAM_FAIRNESS)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell, of the maximum one a setting; more load than the generator had could lose and cost more."""
    base = held(result)
    cells = [cell for cell in read_cells(result, provenance.names) if cell.blocks]

    def samples(values_of: Values, is_bound: Callable[[Cell], bool]) -> list[Sample]:
        found = [(cell, values_of(cell)) for cell in cells]
        return [
            Sample(
                _levels(base, cell, load_label(cell.intended_mbps)),
                provenance.platform(cell.platform).emulated,
                values,
                cell.recorded,
                cell.invalid,
                cell.mean,
                is_bound(cell),
            )
            for cell, values in found
            if values
        ]

    largest = [
        LargestSample(
            _levels(base, each.cell, None),
            provenance.platform(each.platform).emulated,
            {},
            each.cell.recorded,
            each.cell.invalid,
            each.cell.mean,
            each.lower_bound,
            maximum=each,
        )
        for each in maxima(cells)
    ]
    return {
        MAXIMUM_MBPS.name: list(largest),
        THROUGHPUT_MBPS.name: samples(
            lambda cell: by_block(cell.blocks, cell.received_mbps),
            lambda cell: cell.lower_bound and not cell.carried_in_full,
        ),
        LOSS_RATIO.name: samples(
            lambda cell: by_block(cell.blocks, cell.loss_ratio), lambda cell: cell.generator_limited
        ),
        HOST_PERCENT.name: samples(
            lambda cell: by_block(cell.blocks, cell.host_percent), lambda cell: cell.generator_limited
        ),
        STREAM_FAIRNESS.name: samples(_fairness, lambda cell: False),
    }


def _levels(base: Levels, cell: Cell, load: str | None) -> Levels:
    """Guests behind one link have a stream each, whose number is theirs."""
    setting = cell.setting
    parallel = "guests" if base.get("uplink") == "shared" else "streams"
    own: Mapping[str, Any] = {
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
