"""Of bulk streams: goodput of all guests and its share of the link, CPU time, and how evenly guests share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.results import Result
from vtax.views.bulk_cells import BulkCell, Metric, read_bulk_cells
from vtax.views.claims.levels import held, levels
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import Levels, Sample
from vtax.views.fairness import goodput_index
from vtax.views.goodput import aggregate_mbps, goodput_limits
from vtax.views.provenance import Provenance
from vtax.workloads.bulk.catalogue import bulk_levels, link_goodput_mbps

GOODPUT_MBPS = Quantity("goodput_mbps", "Mbit/s", numbers.mbps)
LINK_RATIO = Quantity("link_ratio", "", numbers.ratio)
HOST_PERCENT = Quantity("host_percent", "% CPU", numbers.percent)
FAIRNESS = Quantity("fairness", "", numbers.ratio)

QUANTITIES = (GOODPUT_MBPS, LINK_RATIO, HOST_PERCENT, FAIRNESS)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell; far ends without CPU time left set what they could, unless the link was full."""
    base = held(result)
    testbed = result.scenario.get("testbed") or {}
    cells = [cell for cell in read_bulk_cells(result, provenance.names) if cell.trials]

    def samples(
        metric_of: Callable[[BulkCell], Metric], limits_of: Callable[[BulkCell], Mapping[int, Limit]]
    ) -> list[Sample]:
        found = [(cell, cell.by_block(metric_of(cell))) for cell in cells]
        return [
            Sample(
                levels=_levels(base, cell),
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

    def limits(cell: BulkCell) -> Mapping[int, Limit]:
        return goodput_limits(cell, testbed)

    def link_ratio(cell: BulkCell) -> Metric:
        link_mbps = link_goodput_mbps(cell.setting, testbed)
        return lambda trial: aggregate_mbps(trial) / link_mbps if link_mbps else None

    return {
        GOODPUT_MBPS.name: samples(lambda _: aggregate_mbps, limits),
        LINK_RATIO.name: samples(link_ratio, limits),
        HOST_PERCENT.name: samples(lambda _: lambda trial: trial.host_percent, limits),
        FAIRNESS.name: samples(
            lambda cell: goodput_index if cell.guests > 1 else lambda _: None, lambda _: {}
        ),
    }


def _levels(base: Levels, cell: BulkCell) -> Levels:
    setting = bulk_levels(cell.setting)
    own = {
        "direction": setting.direction,
        "transport": setting.transport,
        "message_bytes": setting.message_bytes,
        "placement": setting.placed,
        "buffer_bytes": setting.buffer_bytes,
        "guests": cell.guests,
    }
    return levels(base, cell.platform, own, cell.setting.further)
