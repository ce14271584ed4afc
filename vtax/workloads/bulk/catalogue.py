"""What is shown of bulk streams: goodput of all guests, what was sent again, and the CPU time it took."""

from __future__ import annotations

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.model.catalogue import Catalogue, Facet
from vtax.model.cell import Aside, Cell, Parts, Reading
from vtax.model.diagnosed import STREAMS
from vtax.model.dimensions import GUESTS
from vtax.model.marks import FAR_END_BUSY, marked
from vtax.model.metric import Better, Metric
from vtax.model.metrics import CPU, GOODPUT, LOSS
from vtax.model.quantity import Quantity
from vtax.model.sample import Sample
from vtax.model.streams import StreamLevels, fills_link, link_goodput_mbps
from vtax.statistics import jain_index

RETRANSMISSIONS = Metric(
    name="retransmissions",
    column="retransmissions",
    sql="sum(retransmissions)",
    unit="segments",
    better=Better.LOWER,
    form=numbers.mbps,
    step_sql="1.0",
)
"""Those of all streams in a trial."""

BUSY_GOODPUT = Aside(
    "busy_goodput_mbps", f"min(goodput_mbps) FILTER ({marked(FAR_END_BUSY)})", needs=(GOODPUT,)
)
"""The least goodput of the block's trials in which the CPU of the far ends had no time left."""


def far_end_limits(cell: Cell) -> dict[int, Limit]:
    """Return the blocks whose goodput the far ends may have set: their CPU was busy, and the link was not full."""
    link_mbps = link_goodput_mbps(cell.setting, cell.testbed)
    busy = cell.by_block(BUSY_GOODPUT.column)
    return {block: Limit.FAR_END for block, mbps in busy.items() if not fills_link(mbps, link_mbps)}


def link_ratio(cell: Cell) -> Sample | None:
    """Return the goodput as a share of what a full link carries; None where that is not known."""
    goodput, link_mbps = cell.sample(GOODPUT), link_goodput_mbps(cell.setting, cell.testbed)
    return goodput.scaled(1 / link_mbps) if goodput and link_mbps else None


def fairness(cell: Cell) -> Sample | None:
    """Return Jain's index of the guests' goodput by block; None of one guest."""
    guests = [part.by_block for part in cell.parts.values()]
    if not cell.level or cell.level < 2:
        return None
    indices = ((block, jain_index([each.get(block, 0.0) for each in guests])) for block in cell.blocks)
    known = {block: index for block, index in indices if index is not None}
    return cell.sample_of(known, GOODPUT.resolution_of(()), {}) if known else None


CATALOGUE = Catalogue(
    kind="bulk",
    reading=Reading(
        StreamLevels,
        GUESTS,
        asides=(BUSY_GOODPUT,),
        limits=far_end_limits,
        parts=Parts("guest", GOODPUT),
    ),
    metrics=(GOODPUT, LOSS, CPU),
    shown=(GOODPUT, LOSS, RETRANSMISSIONS, CPU),
    facet=Facet.STREAMS,
    disturbed=GOODPUT,
    diagnosed=STREAMS,
    claimed=(
        Quantity.of("goodput_mbps", GOODPUT),
        Quantity("link_ratio", "", numbers.ratio, link_ratio),
        Quantity.of("host_percent", CPU),
        Quantity("fairness", "", numbers.ratio, fairness),
    ),
)
