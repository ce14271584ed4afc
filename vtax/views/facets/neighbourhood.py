"""Neighbours on the host: what they did, and what they changed for the guest that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.documents.show.published import PublishedStress, PublishedTraffic
from vtax.model.cell import Cell
from vtax.model.metric import Metric
from vtax.results import Result
from vtax.views.interference import Interference, interference
from vtax.views.neighbours import NeighbourLoad, neighbour_loads, published_stress, published_traffic
from vtax.views.throughput import Maximum


@dataclass(frozen=True)
class NeighbourFacet:
    """Lists are empty where the guest had no neighbours."""

    interference: list[Interference]
    neighbours: list[NeighbourLoad]
    published_stress: list[PublishedStress]
    published_traffic: list[PublishedTraffic]


def read_neighbourhood(
    result: Result,
    maxima: Sequence[Maximum],
    cells: Sequence[Cell],
    disturbed: Metric | None,
    names: tuple[str, ...],
) -> NeighbourFacet:
    """Return everything about neighbours that the result shows; `disturbed` is the metric that they change."""
    return NeighbourFacet(
        interference=interference(result.scenario, maxima, cells, disturbed),
        neighbours=neighbour_loads(result, names),
        published_stress=published_stress(result.scenario),
        published_traffic=published_traffic(result.scenario),
    )
