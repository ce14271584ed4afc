"""How long a guest's round trips take while it has the link to share (L i of anhalt2009, Table I)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vtax.model.diagnosed import TCP_RTT
from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.views.stream_cells import StreamCell


@dataclass(frozen=True)
class RoundTrip:
    """TCP's smoothed round trip at the end of the trial, by the guest's number: under load, queues included."""

    key: str
    platform: str
    setting: Setting
    guests: int
    by_guest_ns: dict[int, Estimate]


def round_trips(cells: Iterable[StreamCell]) -> list[RoundTrip]:
    """A row a cell whose transport tells its round trip, in the order of `cells`."""
    rows = [
        RoundTrip(
            key=cell.key,
            platform=cell.platform,
            setting=cell.setting,
            guests=cell.guests,
            by_guest_ns=cell.by_guest(lambda guest: lambda trial: trial.rtt_ns.get(guest), TCP_RTT),
        )
        for cell in cells
    ]
    return [row for row in rows if row.by_guest_ns]
