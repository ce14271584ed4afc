"""Where frames were lost: each hop's share of the frames that were sent, at one load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from vtax.model.cell import Cell
from vtax.model.estimate import Estimate, repeated_estimate
from vtax.model.levels import Setting
from vtax.model.reading import USABLE
from vtax.results import Result
from vtax.statistics import Resolution

# All phases of a trial, all streams together; a trial without a hop that others have lost nothing there.
# A hop's reason is the one that most of its streams and trials give.
_LOSSES = f"""
WITH {USABLE}, trial AS (
    SELECT trial_id, hop, sum(dropped) AS dropped, mode(reason) AS reason FROM hops GROUP BY ALL
), sent AS (
    SELECT trial_id, sum(received) AS sent FROM hops WHERE hop = 'link' GROUP BY ALL
), places AS (
    SELECT DISTINCT cell, uut_context, hop FROM usable JOIN trial USING (trial_id)
), blocks AS (
    SELECT cell, uut_context, hop, block, avg(coalesce(dropped, 0) / sent) AS share,
           max(1.0 / sent) AS step, mode(reason) AS reason
    FROM usable JOIN places USING (cell, uut_context) JOIN sent USING (trial_id)
    LEFT JOIN trial USING (trial_id, hop) WHERE sent > 0 GROUP BY ALL
)
SELECT cell, uut_context, hop, list(share ORDER BY block) AS shares, max(step) AS step, mode(reason) AS reason
FROM blocks GROUP BY ALL HAVING max(share) > 0 ORDER BY hop
"""  # noqa: S608, made of constants


class _Hop(Struct, frozen=True):
    """A hop of a cell that lost frames: its share of those sent, a value a block, and the share that one is."""

    cell: str
    uut_context: str
    hop: str
    shares: list[float]
    step: float
    reason: str | None


@dataclass(frozen=True)
class Loss:
    """Share of the frames sent that a hop lost at one load; `reason` tells what saw them dropped."""

    key: str
    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    hop: str
    ratio: Estimate
    reason: str | None


def losses(result: Result, cells: Sequence[Cell]) -> list[Loss]:
    """A row a cell and hop that lost frames, in the order of `cells`, the greatest loss first."""
    found: dict[tuple[str, str], list[_Hop]] = {}
    for row in result.read(_LOSSES, _Hop) if cells and result.tables["hops"].num_rows else ():
        found.setdefault((row.cell, row.uut_context), []).append(row)
    return [
        Loss(
            key=cell.key,
            platform=cell.platform,
            setting=cell.setting,
            intended_mbps=cell.level,
            uut_context=cell.uut_context,
            hop=lost.hop,
            ratio=repeated_estimate(
                lost.shares, cell.left_out, Resolution(step=lost.step), cell.repeated(total=True)
            ),
            reason=lost.reason,
        )
        for cell in cells
        for lost in sorted(found.get((cell.key, cell.uut_context), []), key=lambda each: -sum(each.shares))
    ]
