"""The tax: what a platform costs against its reference, paired within blocks.

Platforms that are not emulated are compared with `raw`. Emulated ones are compared only with the first of
their own group: an emulated CPU's cost is never a hypervisor's. No pair is formed across two `uut_context`s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vtax.model.bound import bounded_sides
from vtax.model.cell import Cell
from vtax.model.dimensions import load_label
from vtax.model.estimate import Estimate, estimate
from vtax.model.frames import is_carried_in_full
from vtax.model.levels import Setting
from vtax.model.metrics import CPU
from vtax.model.platform import Platform, references
from vtax.statistics import (
    Interval,
    climbed_ratio,
    paired_difference,
    ratio_of_maxima,
    with_systematic_error,
)
from vtax.statistics.interval import CONFIDENCE
from vtax.views.delay import Delay
from vtax.views.throughput import Maximum


@dataclass(frozen=True)
class MaximumChange:
    """The change of the maximum accumulated throughput against the reference.

    `change_percent` is negative where the platform carries less. It is *at most* that where the reference could have
    carried more, *at least* that where the platform could, and withheld where both could. `problem` says why there is
    no change, or why it is withheld.
    """

    platform: str
    reference: str
    setting: Setting
    emulated: bool
    maximum: Maximum
    reference_maximum: Maximum | None
    change_percent: Estimate | None
    problem: str | None

    @property
    def key(self) -> str:
        """The cell's that was picked for the maximum."""
        return self.maximum.key

    @property
    def where(self) -> str:
        """`raw at the link's rate`: which side is only a lower bound, and what bounded it; empty if none."""
        return _where(self.maximum, self.reference, self.reference_maximum)


@dataclass(frozen=True)
class LoadCost:
    """What the same load costs more than on the reference.

    `added_delay_p50_ns` is the added median one-way delay, `added_host_percent` the CPU time added on the
    unit under test's CPUs in percentage points, 100 = one CPU. `carried_in_full` tells that both offered the
    load as intended and delivered it; otherwise delay and CPU are those of an overload.
    """

    key: str
    platform: str
    reference: str
    setting: Setting
    emulated: bool
    intended_mbps: float | None
    added_delay_p50_ns: Estimate | None
    added_host_percent: Estimate | None
    carried_in_full: bool


def maximum_changes(found: Iterable[Maximum], platforms: Sequence[Platform]) -> list[MaximumChange]:
    """Every maximum against its reference's in the same setting."""
    found = list(found)
    emulated = {platform.name: platform.emulated for platform in platforms}
    pairs = references(platforms)
    changes = []
    for maximum in found:
        reference = pairs.get(maximum.platform)
        if reference is None:
            continue
        candidates = [
            other for other in found if other.platform == reference and other.setting == maximum.setting
        ]
        changes.append(_change(maximum, reference, candidates, emulated[maximum.platform]))
    return changes


def _change(maximum: Maximum, reference: str, candidates: list[Maximum], emulated: bool) -> MaximumChange:
    same = [other for other in candidates if other.uut_context == maximum.uut_context]
    change: Estimate | None = None
    problem: str | None = None
    if same:
        ratio = ratio_of(maximum, same[0])
        if ratio:
            change = ratio.map(lambda each: (each - 1) * 100)
            problem = _where(maximum, reference, same[0]) if change.is_withheld else None
        else:
            problem = f"no block has a usable trial of both {maximum.platform} and {reference}"
    elif candidates:
        problem = (
            f"{maximum.platform} ran in the context '{maximum.uut_context}' and {reference} in "
            f"'{candidates[0].uut_context}': no ratio is formed across the two"
        )
    else:
        problem = f"{reference} has no usable trial here"
    return MaximumChange(
        platform=maximum.platform,
        reference=reference,
        setting=maximum.setting,
        emulated=emulated,
        maximum=maximum,
        reference_maximum=same[0] if same else None,
        change_percent=change,
        problem=problem,
    )


def _where(maximum: Maximum, reference: str, other: Maximum | None) -> str:
    return bounded_sides([(reference, other.limit if other else None), (maximum.platform, maximum.limit)])


def ratio_of(maximum: Maximum, reference: Maximum) -> Estimate | None:
    """A maximum over its reference's, paired within blocks; None where no block has both."""
    found = scatter_of_ratio(maximum, reference, CONFIDENCE)
    if found is None:
        return None
    return estimate(found, _left_out(maximum.cell, reference.cell)).read_as(
        maximum.bound.over(reference.bound)
    )


def scatter_of_ratio(maximum: Maximum, reference: Maximum, confidence: float) -> Interval | None:
    """The ratio's interval by the scatter of what was measured alone, whatever bounded it."""
    if not maximum.cell.adaptive:
        return ratio_of_maxima(maximum.by_load_mbps, reference.by_load_mbps, confidence)
    half_each = (1 + confidence) / 2
    other = reference.ladder(half_each)
    return climbed_ratio(maximum.ladder(half_each), other) if other.interval.mean else None


def load_costs(
    cells: Iterable[Cell], delays: Iterable[Delay], platforms: Sequence[Platform]
) -> list[LoadCost]:
    """Delay and CPU added at each load that both the platform and its reference measured in one context."""
    usable = [cell for cell in cells if cell.blocks]
    emulated = {platform.name: platform.emulated for platform in platforms}
    pairs = references(platforms)
    by_place = {_place(cell.platform, cell): cell for cell in usable}
    known = {(delay.cell.key, delay.cell.uut_context): delay for delay in delays}
    costs = []
    for cell in usable:
        reference = pairs.get(cell.platform)
        other = by_place.get(_place(reference, cell)) if reference else None
        if reference is None or other is None:
            continue
        delay = _added_delay(*(known.get((each.key, each.uut_context)) for each in (cell, other)))
        cpu = paired_difference(
            cell.by_block(CPU.column),
            other.by_block(CPU.column),
            mean=cell.mean,
        )
        left_out = _left_out(cell, other)
        costs.append(
            LoadCost(
                key=cell.key,
                platform=cell.platform,
                reference=reference,
                setting=cell.setting,
                emulated=emulated[cell.platform],
                intended_mbps=cell.level,
                added_delay_p50_ns=estimate(delay, left_out) if delay else None,
                added_host_percent=estimate(cpu, left_out) if cpu else None,
                carried_in_full=is_carried_in_full(cell) and is_carried_in_full(other),
            )
        )
    return costs


def _added_delay(delay: Delay | None, other: Delay | None) -> Interval | None:
    """What is added to the median, ns. Clocks may have been wrong one way with one, and the other with the other.

    Without an interval that says so, it is not told then.
    """
    if delay is None or other is None:
        return None
    error_ns = delay.clock_error_ns + other.clock_error_ns
    difference = paired_difference(delay.p50_by_block_ns, other.p50_by_block_ns, mean=delay.cell.mean)
    if difference is None or (error_ns and difference.low is None):
        return None
    return with_systematic_error(difference, error_ns)


def _place(platform: str, cell: Cell) -> tuple[str, Setting, str, str]:
    return platform, cell.setting, load_label(cell.level), cell.uut_context


def _left_out(*cells: Cell) -> float:
    """Share of trials left out over both sides of a comparison."""
    recorded = sum(cell.recorded for cell in cells)
    return sum(cell.invalid for cell in cells) / recorded if recorded else 0.0
