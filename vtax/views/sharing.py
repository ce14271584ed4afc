"""What guests get of a link and a host that they share: all view data of a campaign of bulk streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vtax.documents.show.published import PublishedSharing
from vtax.model.platform import Platform
from vtax.results import Result
from vtax.views.efficiency import Efficiency, Scaling, efficiencies, scalings
from vtax.views.fairness import Fairness, fairness
from vtax.views.goodput import Goodput
from vtax.views.guest_cpu import GuestCpu, guest_cpu
from vtax.views.published import published
from vtax.views.round_trip import RoundTrip, round_trips
from vtax.views.stream_cells import StreamCell


@dataclass(frozen=True)
class Sharing:
    """Lists follow the order platform, setting, guests; they are empty for other kinds of workload."""

    goodput: list[Goodput] = field(default_factory=list)
    efficiency: list[Efficiency] = field(default_factory=list)
    scaling: list[Scaling] = field(default_factory=list)
    fairness: list[Fairness] = field(default_factory=list)
    cpu: list[GuestCpu] = field(default_factory=list)
    round_trips: list[RoundTrip] = field(default_factory=list)
    published: list[PublishedSharing] = field(default_factory=list)


def sharing(
    result: Result, cells: Sequence[StreamCell], goodput: Sequence[Goodput], platforms: Sequence[Platform]
) -> Sharing:
    """Return everything about sharing that the cells show; `goodput` has their rows, and maybe those of others."""
    scenario = result.scenario
    testbed = scenario.get("testbed") or {}
    return Sharing(
        goodput=[row for row in goodput if row.cell in cells],
        efficiency=efficiencies(cells, testbed, platforms),
        scaling=scalings(cells, testbed),
        fairness=fairness(cells),
        cpu=guest_cpu(cells),
        round_trips=round_trips(cells),
        published=published(scenario, list(dict.fromkeys(cell.setting for cell in cells))),
    )
