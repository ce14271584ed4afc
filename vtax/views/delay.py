"""One-way delay: quantiles of a cell's probes, merged over streams and compared over repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vtax.results import Result
from vtax.statistics import Distribution, decode, merge, quantile_interval, samples_needed
from vtax.views.cells import USABLE, Cell, Setting
from vtax.views.estimate import Estimate, estimate

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

# Probes are sent on schedule and each is timed by itself, so there is no coordinated omission to correct for.
_HISTOGRAMS = f"""
    WITH {USABLE}
    SELECT cell, uut_context, block, list(histogram) AS histograms, list(coalesce(lost, 0)) AS lost
    FROM usable JOIN latency USING (trial_id)
    WHERE kind = 'one-way' AND corrected IS NOT TRUE AND histogram IS NOT NULL
    GROUP BY ALL ORDER BY block
"""  # noqa: S608, made of constants


@dataclass(frozen=True)
class Delay:
    """A cell's one-way delays (ns), merged over the streams, block by block."""

    cell: Cell
    by_block: dict[int, Distribution]

    @property
    def p50_by_block_ns(self) -> dict[int, float]:
        """Each block's median; blocks with too few probes for one are left out.

        None at all where a block lost half of its probes: without it the rest would look too fast.
        """
        if any(found.lies_in_the_lost(0.5) for found in self.by_block.values()):
            return {}
        medians = {block: found.quantile(0.5) for block, found in self.by_block.items()}
        return {block: median for block, median in medians.items() if median is not None}


@dataclass(frozen=True)
class DelayPercentile:
    """A quantile of one-way delay at one load; `label` is p50, p90 or p99.

    `delay_ns` is the quantile of a typical repetition; where some repetition has none, that of all probes
    merged, without an interval. `samples` and `lost` count the probes of all repetitions that arrived and that
    did not. The quantile is taken over both, and `delay_ns` is None where it lies among the lost.
    """

    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    label: str
    quantile: float
    delay_ns: Estimate | None
    samples: int
    lost: int
    generator_limited: bool


def read_delays(result: Result, cells: Iterable[Cell]) -> list[Delay]:
    """The delays of each cell that has any, in the order of `cells`."""
    found: dict[tuple[str, str], dict[int, Distribution]] = {}
    for row in result.query(_HISTOGRAMS).to_pylist():
        merged = merge(
            [
                replace(decode(histogram), lost=lost)
                for histogram, lost in zip(row["histograms"], row["lost"], strict=True)
            ]
        )
        found.setdefault((row["cell"], row["uut_context"]), {})[row["block"]] = merged
    return [
        Delay(cell, found[cell.key, cell.uut_context])
        for cell in cells
        if (cell.key, cell.uut_context) in found
    ]


def delay_percentiles(delays: Iterable[Delay]) -> list[DelayPercentile]:
    """Every quantile that enough probes were sent for (10 / (1 - q))."""
    rows = []
    for delay in delays:
        cell, repetitions = delay.cell, list(delay.by_block.values())
        merged = merge(repetitions)
        for label, quantile in QUANTILES.items():
            if merged.sent < samples_needed(quantile):
                continue
            interval = quantile_interval(repetitions, quantile, mean=cell.mean)
            rows.append(
                DelayPercentile(
                    platform=cell.platform,
                    setting=cell.setting,
                    intended_mbps=cell.intended_mbps,
                    uut_context=cell.uut_context,
                    label=label,
                    quantile=quantile,
                    delay_ns=estimate(interval, cell.left_out) if interval else None,
                    samples=merged.samples,
                    lost=merged.lost,
                    generator_limited=cell.generator_limited,
                )
            )
    return rows
