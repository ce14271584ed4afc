"""How long echoes take through one router among many, and what the repeated paper prints of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct

from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.views.estimate import Estimate, mean_of_known
from vtax.views.paper import printed_rows
from vtax.views.recorded import Further, recorded_cells

_BLOCKS = """
WITH trial AS (
    SELECT trial_id, any_value(latency_mean_ns) FILTER (role = 'victim') AS mean_ns,
           any_value(loss_ratio) FILTER (role = 'victim') AS loss,
           sum(goodput_mbps) FILTER (role = 'neighbour') AS beside_mbps
    FROM flows GROUP BY trial_id
)
SELECT cell, block, avg(mean_ns) AS mean_ns, avg(loss) AS loss, avg(beside_mbps) AS beside_mbps
FROM trials JOIN trial USING (trial_id) WHERE verdict <> 'invalid' GROUP BY ALL ORDER BY block
"""


class _Levels(Struct, frozen=True):
    """What cells differ by."""

    others: str
    payload_bytes: int
    interval_ms: float
    guests: int


class _Block(Struct, frozen=True):
    """The echoes of a cell in a block, and the goodput of all streams beside."""

    cell: str
    block: int
    mean_ns: float | None
    loss: float | None
    beside_mbps: float | None


@dataclass(frozen=True)
class EchoSetting:
    """What is held fixed while platforms and numbers of routers are compared."""

    others: str
    payload_bytes: int
    interval_ms: float
    further: Further = ()

    def __lt__(self, other: EchoSetting) -> bool:
        """Idle ones come first."""
        return self._rank < other._rank

    @property
    def label(self) -> str:
        """As a table's caption says it."""
        beside = "idle" if self.others == "idle" else "forwarding TCP"
        levels = [f"{name} = {value}" for name, value in self.further]
        every = f"{self.payload_bytes}-byte echoes every {self.interval_ms:g} ms"
        return ", ".join([f"others {beside}", every, *levels])

    @property
    def _rank(self) -> tuple[str, int, float, Further]:
        return self.others, self.payload_bytes, self.interval_ms, self.further


@dataclass(frozen=True)
class Echoes:
    """The echoes of a cell: mean round trip of those answered, the share that was not, goodput of all streams beside.

    None where no usable trial has a value.
    """

    key: str
    platform: str
    setting: EchoSetting
    guests: int
    recorded: int
    invalid: int
    suspect: int
    left_out: float
    mean_ns: Estimate | None
    loss_ratio: Estimate | None
    beside_mbps: Estimate | None
    mean_by_block_ns: dict[int, float]

    @property
    def is_usable(self) -> bool:
        """Whether it has a trial that can be shown."""
        return self.recorded > self.invalid


@dataclass(frozen=True)
class PublishedRoundTrip:
    """A round trip as a paper prints it, of its own hardware."""

    setup: str
    guests: str
    others: str
    round_trip_ms: str
    hardware: str
    section: str
    source: str


def read_echoes(result: Result, platforms: tuple[str, ...]) -> list[Echoes]:
    """Every cell that has a recorded trial, usable or not, in the order setting, platform, guests."""
    blocks: dict[str, list[_Block]] = {}
    for each in result.read(_BLOCKS, _Block):
        blocks.setdefault(each.cell, []).append(each)
    found = []
    for row in recorded_cells(result, _Levels):
        levels = row.levels
        own = blocks.get(row.key, [])
        found.append(
            Echoes(
                key=row.key,
                platform=row.platform,
                setting=EchoSetting(levels.others, levels.payload_bytes, levels.interval_ms, row.further),
                guests=levels.guests,
                recorded=row.recorded,
                invalid=row.invalid,
                suspect=row.suspect,
                left_out=row.left_out,
                mean_ns=mean_of_known([block.mean_ns for block in own], row.left_out),
                loss_ratio=mean_of_known([block.loss for block in own], row.left_out),
                beside_mbps=mean_of_known([block.beside_mbps for block in own], row.left_out),
                mean_by_block_ns={block.block: block.mean_ns for block in own if block.mean_ns is not None},
            )
        )
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(found, key=lambda echoes: (echoes.setting, rank[echoes.platform], echoes.guests))


def published_round_trips(scenario: StoredScenario, measured: Iterable[Echoes]) -> list[PublishedRoundTrip]:
    """What the scenario's source prints of routers whose others do what those measured do, in the file's order."""
    others = {echoes.setting.others for echoes in measured}
    printed = printed_rows(scenario, "table3.csv")
    return [PublishedRoundTrip(**row) for row in printed if row["others"] in others]
