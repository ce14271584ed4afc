"""Rate and loss of each of the routers that share an uplink, and what the repeated paper prints of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct

from vtax.documents.show.published import PublishedRate
from vtax.model.bound import Bound
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate, repeated_estimate
from vtax.model.frames import frame_levels, throughput_limits
from vtax.model.levels import Setting
from vtax.model.published import printed_rows
from vtax.model.reading import USABLE
from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.statistics import PER_MILLE, Resolution

# The mean over the routers, which all send as much.
_ROUTERS = f"""
WITH {USABLE}, trial AS (
    SELECT trial_id, avg(received_fps) AS fps, sum(frames_lost) / sum(frames_sent) AS loss,
           1.0 / sum(frames_sent) AS step
    FROM flows WHERE role = 'victim' GROUP BY trial_id HAVING sum(frames_sent) > 0
), blocks AS (
    SELECT cell, uut_context, block, avg(fps) AS fps, avg(loss) AS loss, max(step) AS step
    FROM usable JOIN trial USING (trial_id) GROUP BY ALL
)
SELECT cell, uut_context, list(fps ORDER BY block) AS fps, list(loss ORDER BY block) AS loss,
       max(step) AS step
FROM blocks GROUP BY ALL
"""  # noqa: S608, made of constants


class _Router(Struct, frozen=True):
    """What the routers of a cell forward and lose, a value a block, and the share that one frame is."""

    cell: str
    uut_context: str
    fps: list[float]
    loss: list[float]
    step: float


@dataclass(frozen=True)
class RouterRate:
    """What each router of a cell forwards, and the share it loses of what its source sent."""

    platform: str
    setting: Setting
    intended_mbps: float | None
    received_fps: Estimate
    loss_ratio: Estimate


def router_rates(result: Result, cells: Iterable[Cell]) -> list[RouterRate]:
    """A row a cell, in the order of `cells`; none where guests share no uplink."""
    testbed = result.scenario.get("testbed") or {}
    if testbed.get("uplink") != "shared":
        return []
    found = {(row.cell, row.uut_context): row for row in result.read(_ROUTERS, _Router)}
    return [
        RouterRate(
            platform=cell.platform,
            setting=cell.setting,
            intended_mbps=cell.level,
            received_fps=repeated_estimate(row.fps, cell.left_out, PER_MILLE, cell.repeated()).read_as(
                Bound.of(throughput_limits(cell).values())
            ),
            loss_ratio=repeated_estimate(
                row.loss, cell.left_out, Resolution(step=row.step), cell.repeated(total=True)
            ),
        )
        for cell in cells
        if (row := found.get((cell.key, cell.uut_context))) is not None
    ]


def published_rates(scenario: StoredScenario, rates: Iterable[RouterRate]) -> list[PublishedRate]:
    """What the scenario's source prints of routers with frames of the lengths measured, in the file's order."""
    measured = {str(frame_levels(rate.setting).frame_bytes) for rate in rates}
    printed = printed_rows(scenario, "table2.csv")
    return [PublishedRate(**row) for row in printed if row["frame_bytes"] in measured]
