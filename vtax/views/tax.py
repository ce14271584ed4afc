"""The tax: what a platform costs against its reference, paired within blocks.

Platforms that are not emulated are compared with `raw`. Emulated ones are compared only with the first of
their own group: an emulated CPU's cost is never a hypervisor's. No pair is formed across two `uut_context`s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from vtax.model import numbers
from vtax.model.bound import Bound, bounded_sides
from vtax.model.cell import Cell
from vtax.model.dimensions import load_label
from vtax.model.estimate import Estimate, estimate
from vtax.model.frames import OFFERED, is_carried_in_full
from vtax.model.levels import Setting
from vtax.model.metrics import CPU, LATENCY_P50
from vtax.model.platform import Platform, references
from vtax.statistics import (
    Interval,
    climbed_ratio,
    paired_difference,
    ratio_of_maxima,
    with_systematic_error,
)
from vtax.statistics.anytime import PACING
from vtax.statistics.interval import CONFIDENCE
from vtax.statistics.resolution import ratio_wider_by, step_of_difference, wider_by
from vtax.views.capacity import PDR, Capacity
from vtax.views.delay import Delay
from vtax.views.throughput import STEPS, Maximum


@dataclass(frozen=True)
class CapacityChange:
    """The change of the throughput within a loss goal against the reference's.

    `change_percent` is negative where the platform carries less. It is *at most* that where the reference could have
    carried more, *at least* that where the platform could, and withheld where both could. Of a side that lies between
    two loads the higher one bounds it from above, and so the change where that tells more. `bounded_by` is which side
    is only a bound, and what bounded it, as in `raw at the link's rate`; empty if none is. `problem` says why there is
    no change, or why it is withheld.
    """

    platform: str
    reference: str
    setting: Setting
    emulated: bool
    capacity: Capacity
    reference_capacity: Capacity | None
    change_percent: Estimate | None
    bounded_by: str
    problem: str | None

    @property
    def key(self) -> str:
        """The cell's that was picked for the maximum, or that was beyond the goal."""
        return self.capacity.key


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


def capacity_changes(found: Iterable[Capacity], platforms: Sequence[Platform]) -> list[CapacityChange]:
    """Every PDR against its reference's in the same setting."""
    found = [capacity for capacity in found if capacity.goal == PDR.name]
    emulated = {platform.name: platform.emulated for platform in platforms}
    pairs = references(platforms)
    changes = []
    for capacity in found:
        reference = pairs.get(capacity.platform)
        if reference is None:
            continue
        candidates = [
            other for other in found if other.platform == reference and other.setting == capacity.setting
        ]
        changes.append(_change(capacity, reference, candidates, emulated[capacity.platform]))
    return changes


def _change(capacity: Capacity, reference: str, candidates: list[Capacity], emulated: bool) -> CapacityChange:
    same = next((other for other in candidates if other.uut_context == capacity.uut_context), None)
    ratio: Estimate | None = None
    bounded_by, problem = "", None
    if same is not None:
        ratio, bounded_by = _ratio(capacity, same)
        problem = bounded_by if ratio is None or ratio.is_withheld else None
    elif candidates:
        problem = (
            f"{capacity.platform} ran in the context '{capacity.uut_context}' and {reference} in "
            f"'{candidates[0].uut_context}': no ratio is formed across the two"
        )
    else:
        problem = f"{reference} has no usable trial here"
    return CapacityChange(
        platform=capacity.platform,
        reference=reference,
        setting=capacity.setting,
        emulated=emulated,
        capacity=capacity,
        reference_capacity=same,
        change_percent=ratio.map(lambda each: (each - 1) * 100) if ratio else None,
        bounded_by=bounded_by,
        problem=problem,
    )


def _ratio(capacity: Capacity, reference: Capacity) -> tuple[Estimate | None, str]:
    """The ratio, and what bounds it, or why there is none.

    A load that lost too much bounds its side from above: it is taken where it shows that the platform carries less, or
    more, and in place of a ratio that is withheld or that cannot be formed.
    """
    own, other = capacity.maximum, reference.maximum
    found = ratio_of(own, other) if own and other else None
    if other and capacity.beyond and (own is None or capacity.is_bracketed):
        below = _read(_offered(capacity.beyond, other), other, Bound.AT_MOST)
        if below and below.value < 1 + PACING:
            return below, _bounds([(reference, other)], capacity)
    if own and reference.beyond and (found is None or found.is_withheld):
        above = _read(own, _offered(reference.beyond, own), Bound.AT_LEAST)
        if above and above.value > 1 - PACING:
            return above, _bounds([(capacity, own)], reference)
    if found:
        return found, _bounds([(reference, other), (capacity, own)])
    if own is None and other is None:
        return None, "both lost more at the least load"
    lost = next((_lost_more(side) for side in (reference, capacity) if side.maximum is None), None)
    return None, lost or f"no block has a usable trial of both {capacity.platform} and {reference.platform}"


def _offered(beyond: Cell, like: Maximum) -> Maximum:
    """A load of which too much was lost, as the maximum that it would have been."""
    offered = {beyond.key: beyond.by_block(OFFERED.column)}
    return replace(like, cell=beyond, by_load_mbps=offered, caps_mbps={})


def _read(one: Maximum, other: Maximum, bound: Bound) -> Estimate | None:
    """The ratio of two, read as a bound whatever bounded either."""
    found = scatter_of_ratio(one, other, CONFIDENCE)
    return estimate(found, _left_out(one.cell, other.cell)).read_as(bound) if found else None


def _bounds(sides: Iterable[tuple[Capacity, Maximum | None]], beyond: Capacity | None = None) -> str:
    """Which sides are bounds, and by what, and at which load the side `beyond` one lost more."""
    limited = bounded_sides([(side.platform, found.limit if found else None) for side, found in sides])
    return " and ".join(filter(None, [limited, _lost_more(beyond) if beyond else ""]))


def _lost_more(side: Capacity) -> str:
    """What bounds a side from above, in words."""
    most = "" if side.less_than_mbps is None else f" at {numbers.mbps(side.less_than_mbps)} Mbit/s"
    return f"{side.platform} lost more{most}"


def ratio_of(maximum: Maximum, reference: Maximum) -> Estimate | None:
    """A maximum over its reference's, paired within blocks; None where no block has both."""
    found = scatter_of_ratio(maximum, reference, CONFIDENCE)
    if found is None:
        return None
    return estimate(found, _left_out(maximum.cell, reference.cell)).read_as(
        maximum.bound.over(reference.bound)
    )


def scatter_of_ratio(maximum: Maximum, reference: Maximum, confidence: float) -> Interval | None:
    """The ratio's interval by scatter and steps of what was measured alone, whatever bounded it."""
    found = _scatter_of_ratio(maximum, reference, confidence)
    return found and ratio_wider_by(found, STEPS.share)


def _scatter_of_ratio(maximum: Maximum, reference: Maximum, confidence: float) -> Interval | None:
    if not maximum.cell.adaptive:
        return ratio_of_maxima(maximum.by_load_mbps, reference.by_load_mbps, confidence, STEPS.share)
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
        own_cpu, other_cpu = cell.sample(CPU), other.sample(CPU)
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
                added_host_percent=own_cpu.difference(other_cpu) if own_cpu and other_cpu else None,
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
    sides = delay.p50_by_block_ns, other.p50_by_block_ns
    if not all(sides):
        return None
    step = step_of_difference(*(LATENCY_P50.resolution_of(()).at(median(side.values())) for side in sides))
    difference = paired_difference(*sides, mean=partial(delay.cell.repeated(), step=step))
    if difference is None or (error_ns and difference.low is None):
        return None
    return wider_by(with_systematic_error(difference, error_ns), step)


def _place(platform: str, cell: Cell) -> tuple[str, Setting, str, str]:
    return platform, cell.setting, load_label(cell.level), cell.uut_context


def _left_out(*cells: Cell) -> float:
    """Share of trials left out over both sides of a comparison."""
    recorded = sum(cell.recorded for cell in cells)
    return sum(cell.invalid for cell in cells) / recorded if recorded else 0.0
