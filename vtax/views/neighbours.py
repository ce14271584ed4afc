"""What neighbours were offered and received, and what the repeated paper prints of that and of their effect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct

from vtax.documents.show.published import PublishedStress, PublishedTraffic
from vtax.model.estimate import Estimate, estimate_of_known
from vtax.model.levels import Levels
from vtax.model.published import printed_rows
from vtax.model.reading import recorded_cells
from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.statistics import PER_MILLE

# The mean over the neighbours, which all do the same.
_BLOCKS = """
WITH flow AS (
    SELECT trial_id, avg(offered_mbps) AS offered_mbps, avg(received_mbps) AS received_mbps,
           avg(goodput_mbps) AS goodput_mbps, avg(latency_mean_ns) AS latency_mean_ns
    FROM flows WHERE role = 'neighbour' GROUP BY trial_id
)
SELECT cell, block, avg(offered_mbps) AS offered_mbps, avg(received_mbps) AS received_mbps,
       avg(goodput_mbps) AS goodput_mbps, avg(latency_mean_ns) AS latency_mean_ns,
       avg(neighbour_maximum_mbps) AS maximum_mbps
FROM untraced JOIN flow USING (trial_id) WHERE verdict <> 'invalid' GROUP BY ALL ORDER BY block
"""


class _Block(Struct, frozen=True):
    """What a cell's neighbours did in a block."""

    cell: str
    block: int
    offered_mbps: float | None
    received_mbps: float | None
    goodput_mbps: float | None
    latency_mean_ns: float | None
    maximum_mbps: float | None


@dataclass(frozen=True)
class NeighbourLoad:
    """What each neighbour of a cell did in the mean; None is what its kind of traffic does not tell."""

    platform: str
    cell: str
    offered_mbps: Estimate | None
    received_mbps: Estimate | None
    goodput_mbps: Estimate | None
    latency_mean_ns: Estimate | None
    maximum_mbps: Estimate | None
    left_out: float


def neighbour_loads(result: Result, platforms: Iterable[str]) -> list[NeighbourLoad]:
    """A row a cell whose neighbours sent or answered anything, by platform."""
    blocks: dict[str, list[_Block]] = {}
    for row in result.read(_BLOCKS, _Block):
        blocks.setdefault(row.cell, []).append(row)
    rank = {name: position for position, name in enumerate(platforms)}
    found = []
    for cell in recorded_cells(result, Levels) if blocks else ():
        own = blocks.get(cell.key, [])
        means = {
            "offered_mbps": estimate_of_known(
                [block.offered_mbps for block in own], cell.left_out, PER_MILLE
            ),
            "received_mbps": estimate_of_known(
                [block.received_mbps for block in own], cell.left_out, PER_MILLE
            ),
            "goodput_mbps": estimate_of_known(
                [block.goodput_mbps for block in own], cell.left_out, PER_MILLE
            ),
            "latency_mean_ns": estimate_of_known(
                [block.latency_mean_ns for block in own], cell.left_out, PER_MILLE
            ),
            "maximum_mbps": estimate_of_known(
                [block.maximum_mbps for block in own], cell.left_out, PER_MILLE
            ),
        }
        if any(means.values()):
            words = cell.key.removeprefix(f"platform={cell.platform}").strip() or "all"
            found.append(NeighbourLoad(cell.platform, words, **means, left_out=cell.left_out))
    return sorted(found, key=lambda row: rank[row.platform])


def published_stress(scenario: StoredScenario) -> list[PublishedStress]:
    """What the scenario's source prints, where neighbours are stressed, in the file's order."""
    if not {"light", "heavy"} & {*_behaviours(scenario)}:
        return []
    return [PublishedStress(**row) for row in printed_rows(scenario, "neighbour-stress.csv")]


def published_traffic(scenario: StoredScenario) -> list[PublishedTraffic]:
    """The same where neighbours forward."""
    if "forward" not in _behaviours(scenario):
        return []
    return [PublishedTraffic(**row) for row in printed_rows(scenario, "neighbour-traffic.csv")]


def _behaviours(scenario: StoredScenario) -> list[str]:
    factors, testbed = scenario.get("factors") or {}, scenario.get("testbed") or {}
    return [str(each) for each in (*factors.get("neighbours", ()), testbed.get("neighbours", "none"))]
