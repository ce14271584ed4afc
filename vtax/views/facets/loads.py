"""Loads of frames: throughput, delay, CPU time and loss by load, and what a platform costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from vtax.documents.show.published import PublishedRate
from vtax.model.cell import Cell
from vtax.model.levels import Setting
from vtax.results import Result
from vtax.views.capacity import Capacity, capacities, read_frames
from vtax.views.cpu import CpuUse, cpu_ledger, cpu_use
from vtax.views.delay import DelayPercentile, delay_percentiles, read_delays
from vtax.views.losses import Loss, losses
from vtax.views.provenance import Provenance
from vtax.views.routers import RouterRate, published_rates, router_rates
from vtax.views.searches import Found, read_searches
from vtax.views.tax import CapacityChange, LoadCost, capacity_changes, load_costs
from vtax.views.throughput import Maximum, Throughput, maxima, throughput_by_load

Row = TypeVar(
    "Row",
    Throughput,
    Capacity,
    Maximum,
    DelayPercentile,
    CapacityChange,
    LoadCost,
    CpuUse,
    Loss,
    Found,
    RouterRate,
)


@dataclass(frozen=True)
class LoadFacet:
    """Lists follow the order platform, setting, load; they are empty for kinds without loads of frames."""

    throughput: list[Throughput] = field(default_factory=list)
    capacities: list[Capacity] = field(default_factory=list)
    maxima: list[Maximum] = field(default_factory=list)
    percentiles: list[DelayPercentile] = field(default_factory=list)
    changes: list[CapacityChange] = field(default_factory=list)
    costs: list[LoadCost] = field(default_factory=list)
    cpu: list[CpuUse] = field(default_factory=list)
    ledger: list[CpuUse] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    searches: list[Found] = field(default_factory=list)
    routers: list[RouterRate] = field(default_factory=list)
    published_routers: list[PublishedRate] = field(default_factory=list)

    def about(self, platform: str, setting: Setting) -> LoadFacet:
        """Return what was measured of one platform in one setting."""

        def own(rows: list[Row]) -> list[Row]:
            return [row for row in rows if row.platform == platform and row.setting == setting]

        return LoadFacet(
            throughput=own(self.throughput),
            capacities=own(self.capacities),
            maxima=own(self.maxima),
            percentiles=own(self.percentiles),
            changes=own(self.changes),
            costs=own(self.costs),
            cpu=own(self.cpu),
            ledger=own(self.ledger),
            losses=own(self.losses),
            searches=own(self.searches),
            routers=own(self.routers),
            published_routers=self.published_routers,
        )


def read_loads(result: Result, provenance: Provenance, cells: Sequence[Cell]) -> LoadFacet:
    """Return everything about loads that the cells show, in their order."""
    # Loads that a search chose for what it saw have no maximum, and none in common with another platform's.
    compared = [] if provenance.search else list(cells)
    found, delays = capacities(compared, read_frames(result)), read_delays(result, cells)
    routers = router_rates(result, cells)
    return LoadFacet(
        throughput=throughput_by_load(cells),
        capacities=found,
        maxima=maxima(compared),
        percentiles=delay_percentiles(delays),
        changes=capacity_changes(found, provenance.platforms),
        costs=load_costs(compared, delays, provenance.platforms),
        cpu=cpu_use(result, cells),
        ledger=cpu_ledger(result, cells),
        losses=losses(result, cells),
        searches=read_searches(result, provenance.names),
        routers=routers,
        published_routers=published_rates(result.scenario, routers),
    )
