"""CPU time, twice: the unit under test's as the kernel counts it, and the whole machine's as it was sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.model.cell import Cell
from vtax.model.estimate import Estimate, repeated_estimate
from vtax.model.levels import Setting
from vtax.model.metric import HOST_CPU, SINK_CPU
from vtax.model.reading import USABLE
from vtax.model.series import series
from vtax.results import Result
from vtax.statistics import PER_MILLE, Resolution

# A trial may name a component more than once (on several hosts): summed before the mean.
_CPU = f"""
WITH {USABLE}, trial AS (
    SELECT trial_id, domain, component, sum(percent) AS percent, sum(high - percent) AS step
    FROM cpu WHERE samples IS NULL GROUP BY ALL
    UNION ALL
    SELECT trial_id, 'host' AS domain, 'without the sink' AS component, percent, step FROM {HOST_CPU.rows}
    WHERE trial_id IN (SELECT trial_id FROM {SINK_CPU.rows})
), blocks AS (
    SELECT cell, uut_context, domain, component, block, avg(percent) AS percent, max(step) AS step
    FROM usable JOIN trial USING (trial_id) GROUP BY ALL
)
SELECT cell, uut_context, domain, component, list(percent ORDER BY block) AS percent, max(step) AS step
FROM blocks WHERE percent IS NOT NULL GROUP BY ALL ORDER BY domain, component
"""  # noqa: S608, made of constants

# An account that a trial's ledger does not have had nothing in it.
_LEDGER = f"""
WITH {USABLE}, sampled AS (
    SELECT trial_id, domain, component, sum(percent) AS percent FROM cpu WHERE samples IS NOT NULL GROUP BY ALL
), metered AS (
    SELECT trial_id, sum(percent) / nullif(sum(samples), 0) AS step FROM cpu WHERE samples IS NOT NULL GROUP BY trial_id
), account AS (
    SELECT DISTINCT cell, uut_context, domain, component FROM usable JOIN sampled USING (trial_id)
), blocks AS (
    SELECT cell, uut_context, domain, component, block, avg(coalesce(percent, 0)) AS percent,
           max(step) AS step
    FROM usable JOIN metered USING (trial_id) JOIN account USING (cell, uut_context)
    LEFT JOIN sampled USING (trial_id, domain, component) GROUP BY ALL
)
SELECT cell, uut_context, domain, component, list(percent ORDER BY block) AS percent, max(step) AS step
FROM blocks GROUP BY ALL ORDER BY domain, component
"""  # noqa: S608, made of constants

OWNERS = {
    "host": "unit under test, all",
    "guest": "guest's threads",
    "sink": "instrument: sink, calibrated",
    "source": "instrument: source",
}
"""Whose a domain's CPU is, in the order shown. The sink's cost is the instrument's, not the platform's."""

DOMAINS = {
    "guest": "guest",
    "neighbour": "neighbour",
    "host": "host",
    "source": "instrument: source",
    "sink": "instrument: sink",
    "peer": "instrument: far ends",
    "server": "instrument: servers",
    "switch": "instrument: switch",
    "instrument": "instrument: interrupts",
    "controller": "instrument: controller",
    "steal": "hypervisor below (steal)",
    "idle": "idle",
}
"""The same of the ledger's domains."""


@dataclass(frozen=True)
class CpuUse:
    """CPU of one component at one load, percent of one CPU."""

    key: str
    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    domain: str
    component: str
    percent: Estimate


def cpu_use(result: Result, cells: Sequence[Cell]) -> list[CpuUse]:
    """What the kernel counts: a row a cell and component with usable trials, in the order of `cells`."""
    return _use(result, cells, _CPU, OWNERS)


def cpu_ledger(result: Result, cells: Sequence[Cell]) -> list[CpuUse]:
    """The sampled ledger: a row a cell and account, which add up to all CPUs."""
    return _use(result, cells, _LEDGER, DOMAINS)


def _use(result: Result, cells: Sequence[Cell], query: str, owners: dict[str, str]) -> list[CpuUse]:
    if not cells:
        return []
    found: dict[tuple[str, str], list[tuple[str, str, Sequence[float], float]]] = {}
    rows = result.columns(query)
    for cell_key, context, domain, component, step, percent in zip(
        *(rows[name].to_pylist() for name in ("cell", "uut_context", "domain", "component", "step")),
        series(rows["percent"]),
        strict=True,
    ):
        found.setdefault((cell_key, context), []).append((domain, component, percent, step or 0.0))
    order = {domain: position for position, domain in enumerate(owners)}
    return [
        CpuUse(
            key=cell.key,
            platform=cell.platform,
            setting=cell.setting,
            intended_mbps=cell.level,
            uut_context=cell.uut_context,
            domain=domain,
            component=component,
            percent=repeated_estimate(
                percent, cell.left_out, Resolution(step, PER_MILLE.share), cell.repeated(total=True)
            ),
        )
        for cell in cells
        for domain, component, percent, step in sorted(
            found.get((cell.key, cell.uut_context), []),
            key=lambda row: (order.get(row[0], len(order)), row[1]),
        )
    ]
