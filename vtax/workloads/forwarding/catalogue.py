"""What is shown of forwarded frames: throughput, loss, delay and CPU time at each load."""

from __future__ import annotations

from vtax.model import numbers
from vtax.model.catalogue import Catalogue, Facet
from vtax.model.cell import Cell
from vtax.model.diagnosed import FRAMES
from vtax.model.frames import MAXIMUM_MBPS, OFFERED, READING, RECEIVED_FPS, load_limits
from vtax.model.metric import Metric
from vtax.model.metrics import CPU, LATENCY_P50, LATENCY_P99, LOSS, SINK, THROUGHPUT, WAITED
from vtax.model.quantity import Quantity
from vtax.model.sample import Sample
from vtax.statistics import jain_index


def stream_fairness(cell: Cell) -> Sample | None:
    """Return Jain's index of the streams' throughput by block; None where not all were received in each."""
    streams = [part.by_block for part in cell.parts.values()]
    if len(streams) < 2 or any(len(each) != len(cell.blocks) for each in streams):
        return None
    indices = ((block, jain_index([each[block] for each in streams])) for block in cell.blocks)
    known = {block: index for block, index in indices if index is not None}
    return cell.sample_of(known, THROUGHPUT.resolution_of(()), {}) if known else None


def _of_load(cell: Cell, metric: Metric) -> Sample | None:
    """A metric of the load: more load than its source had could be lost more, and cost more."""
    values = cell.by_block(metric.column)
    return cell.sample_of(values, cell.resolution(metric), load_limits(cell)) if values else None


CATALOGUE = Catalogue(
    kind="forwarding",
    reading=READING,
    metrics=(THROUGHPUT, LOSS, LATENCY_P50, LATENCY_P99, CPU),
    shown=(OFFERED, THROUGHPUT, RECEIVED_FPS, LOSS, CPU, SINK, WAITED),
    facet=Facet.LOADS,
    diagnosed=FRAMES,
    claimed=(
        MAXIMUM_MBPS,
        Quantity.of("throughput_mbps", THROUGHPUT),
        Quantity("loss_ratio", LOSS.unit, LOSS.form, lambda cell: _of_load(cell, LOSS)),
        Quantity("host_percent", CPU.unit, CPU.form, lambda cell: _of_load(cell, CPU)),
        Quantity("stream_fairness", "", numbers.ratio, stream_fairness),
    ),
)
