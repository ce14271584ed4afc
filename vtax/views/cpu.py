"""CPU of the unit under test's host: its total, the guest's threads, and what sink and source took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vtax.results import Result
from vtax.views.cells import USABLE, Cell, Setting
from vtax.views.estimate import Estimate, mean_estimate

# A trial may name a component more than once (on several hosts): summed before the mean.
_CPU = f"""
WITH {USABLE}, trial AS (
    SELECT trial_id, domain, component, sum(percent) AS percent FROM cpu WHERE samples IS NULL GROUP BY ALL
), blocks AS (
    SELECT cell, uut_context, domain, component, block, avg(percent) AS percent
    FROM usable JOIN trial USING (trial_id) GROUP BY ALL
)
SELECT cell, uut_context, domain, component, list(percent ORDER BY block) AS percent
FROM blocks WHERE percent IS NOT NULL GROUP BY ALL ORDER BY domain, component
"""  # noqa: S608, made of constants

OWNERS = {
    "host": "unit under test, all",
    "guest": "guest's threads",
    "sink": "instrument: sink, calibrated",
    "source": "instrument: source",
}
"""Whose a domain's CPU is, in the order shown. The sink's cost is the instrument's, not the platform's."""


@dataclass(frozen=True)
class CpuUse:
    """CPU of one component at one load, percent of one CPU."""

    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    domain: str
    component: str
    percent: Estimate


def cpu_use(result: Result, cells: Iterable[Cell]) -> list[CpuUse]:
    """A row a cell and component with usable trials, in the order of `cells`."""
    found: dict[tuple[str, str], list[tuple[str, str, list[float]]]] = {}
    for row in result.query(_CPU).to_pylist():
        key = (row["cell"], row["uut_context"])
        found.setdefault(key, []).append((row["domain"], row["component"], row["percent"]))
    order = {domain: position for position, domain in enumerate(OWNERS)}
    return [
        CpuUse(
            platform=cell.platform,
            setting=cell.setting,
            intended_mbps=cell.intended_mbps,
            uut_context=cell.uut_context,
            domain=domain,
            component=component,
            percent=mean_estimate(percent, cell.left_out, cell.mean),
        )
        for cell in cells
        for domain, component, percent in sorted(
            found.get((cell.key, cell.uut_context), []),
            key=lambda row: (order.get(row[0], len(order)), row[1]),
        )
    ]
