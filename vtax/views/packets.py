"""One packet on its way, hook by hook (oljira2016, Table I)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from vtax.documents.show.published import PublishedMoment
from vtax.model.levels import Setting
from vtax.model.published import printed_rows
from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.views.stages import TracedCell

# Of each way the packet whose time over all of it is the median of those that were kept.
_TYPICAL = """
WITH spans AS (
    SELECT cell, trial_id, way, packet, max(at_ns) - min(at_ns) AS span_ns
    FROM traced JOIN packets USING (trial_id) WHERE verdict <> 'invalid' GROUP BY ALL
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY cell, way ORDER BY span_ns, trial_id, packet) AS place,
           count(*) OVER (PARTITION BY cell, way) AS kept
    FROM spans
)
SELECT cell, host, packets.way, packet, position, stage, function, interface,
       at_ns - min(at_ns) OVER (PARTITION BY cell, packets.way) AS since_ns
FROM ranked JOIN packets USING (trial_id, way, packet) WHERE place = (kept + 1) // 2
ORDER BY cell, packets.way, position
"""


class _Moment(Struct, frozen=True):
    """A packet at a hook."""

    cell: str
    host: str | None
    way: str
    packet: int
    position: int
    stage: str | None
    function: str
    interface: str
    since_ns: int


@dataclass(frozen=True)
class PacketMoment:
    """A packet at a hook: when since it was first seen on its way, and the stage that ends there.

    `took_ns` is since the hook before. `stage` is None at the first one.
    """

    platform: str
    setting: Setting
    host: str | None
    path: str
    packet: int
    position: int
    function: str
    interface: str
    stage: str | None
    since_ns: int
    took_ns: int


def packet_moments(result: Result, cells: Sequence[TracedCell]) -> list[PacketMoment]:
    """A typical packet of each way of each cell, in the order of `cells`."""
    found: dict[str, list[_Moment]] = {}
    for row in result.read(_TYPICAL, _Moment) if cells else ():
        found.setdefault(row.cell, []).append(row)
    return [moment for cell in cells for moment in _moments(cell, found.get(cell.key, []))]


def published_moments(scenario: StoredScenario, moments: Sequence[PacketMoment]) -> list[PublishedMoment]:
    """The paper's packets, where any was followed here."""
    if not moments:
        return []
    told: list[PublishedMoment] = []
    firsts: dict[str, float] = {}
    for row in printed_rows(scenario, "table1.csv"):
        direction, at_ns = row["direction"], float(row["timestamp_s"]) * 1e9
        since_ns = round(at_ns - firsts.setdefault(direction, at_ns), -4)
        before = told[-1].since_ns if told and told[-1].direction == direction else 0.0
        told.append(
            PublishedMoment(
                direction=direction,
                function=row["function"],
                stage=row["stage"],
                since_ns=since_ns,
                took_ns=since_ns - before,
            )
        )
    return told


def _moments(cell: TracedCell, rows: Sequence[_Moment]) -> list[PacketMoment]:
    moments = []
    for place, row in enumerate(rows):
        before = rows[place - 1].since_ns if row.position else row.since_ns
        moments.append(
            PacketMoment(
                platform=cell.platform,
                setting=cell.setting,
                host=row.host,
                path=row.way,
                packet=row.packet,
                position=row.position,
                function=row.function,
                interface=row.interface,
                stage=row.stage,
                since_ns=row.since_ns,
                took_ns=row.since_ns - before,
            )
        )
    return moments
