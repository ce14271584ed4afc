"""Throughput by load, and the largest of it (schlosser2011, Fig. 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from vtax.model.bound import Bound, Limit, main_limit
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate, estimate
from vtax.model.frames import (
    OFFERED,
    RECEIVED_FPS,
    frame_levels,
    is_carried_in_full,
    is_generator_limited,
    own_limits,
    throughput_limits,
)
from vtax.model.levels import Setting
from vtax.model.metrics import CARRIED_IN_FULL_LOSS_RATIO, LOSS, SINK, THROUGHPUT
from vtax.model.recorded import Recorded
from vtax.statistics import Centre, Interval, climb, load_cap, select_maximum
from vtax.statistics.anytime import Ladder
from vtax.statistics.interval import CONFIDENCE

STEPS = THROUGHPUT.resolution_of(())
"""How finely a throughput is known."""
_ROUNDING = 1e-9
"""By so much two ways to compute one mean may differ."""


@dataclass(frozen=True)
class Throughput(Recorded):
    """What a platform carried at one load, accumulated over the streams and for each stream (layer 1).

    `intended_mbps` is a stream's load, None for the flood, whose throughput is *at least* that where something other
    than the platform bounded a trial. `generator_limited` tells that the generator's ceiling set the load of one.
    """

    intended_mbps: float | None
    uut_context: str
    offered_mbps: Estimate
    received_mbps: Estimate
    received_fps: Estimate | None
    loss_ratio: Estimate | None
    stream_received_mbps: dict[int, Estimate]
    generator_limited: bool
    carried_in_full: bool
    marks: Mapping[str, int]
    cell: Cell

    @property
    def limit(self) -> Limit | None:
        """What bounded it in the platform's stead."""
        return main_limit(throughput_limits(self.cell).values())

    def scatter(self) -> Interval:
        """The interval of the throughput's mean by scatter and steps alone, whatever bounded it."""
        sample = self.cell.sample(THROUGHPUT)
        if sample is None:
            raise ValueError("a throughput has a value")
        return sample.interval()


@dataclass(frozen=True)
class Maximum:
    """The largest throughput over the loads, which need not be the one at the largest load, nor the flood's.

    `received_mbps` is that of the maximum itself, freed of the bias and with bounds for having been picked; the
    streams' means and the loss are of the load that was picked. `by_load_mbps` holds each load's {block: value},
    for comparing maxima, and `caps_mbps` what each paced one cannot exceed. It is *at least* that, and `limit` is what
    bounded it, where a trial at that load did not show the platform's own limit, or one at another load carried more.

    `without_sink_mbps` is what it is at most where the sink takes none of the platform's CPUs: the platform may be
    limited by another of them. None where something else bounded the maximum, or the sink ran elsewhere.
    """

    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    received_mbps: Estimate
    without_sink_mbps: Estimate | None
    stream_received_mbps: dict[int, Estimate]
    loss_ratio: Estimate | None
    limit: Limit | None
    cell: Cell
    by_load_mbps: Mapping[str, Mapping[int, float]]
    caps_mbps: Mapping[str, float]

    @property
    def key(self) -> str:
        """The picked cell's."""
        return self.cell.key

    @property
    def bound(self) -> Bound:
        """How it is read."""
        return self.received_mbps.bound

    def scatter(self, confidence: float = CONFIDENCE) -> Interval:
        """Its interval by scatter and steps of what was measured alone, whatever bounded it."""
        return _pick(self.by_load_mbps, self.caps_mbps, self.cell.adaptive, confidence)[1]

    def ladder(self, confidence: float) -> Ladder[str]:
        """The maximum where what was measured decided how often: its interval holds at any such moment."""
        return _ladder(self.by_load_mbps, self.caps_mbps, confidence)


def throughput_by_load(cells: Iterable[Cell]) -> list[Throughput]:
    """A row a cell with usable trials, in the order of `cells`."""
    rows = []
    for cell in cells:
        offered, received = cell.estimate(OFFERED), cell.estimate(THROUGHPUT)
        if offered is None or received is None:
            continue
        rows.append(
            Throughput(
                key=cell.key,
                platform=cell.platform,
                setting=cell.setting,
                intended_mbps=cell.level,
                uut_context=cell.uut_context,
                offered_mbps=offered,
                received_mbps=received,
                received_fps=cell.estimate(RECEIVED_FPS),
                loss_ratio=cell.estimate(LOSS),
                stream_received_mbps=_streams(cell, received.bound),
                generator_limited=is_generator_limited(cell),
                carried_in_full=is_carried_in_full(cell),
                marks=cell.marks,
                recorded=cell.recorded,
                invalid=cell.invalid,
                suspect=cell.suspect,
                cell=cell,
            )
        )
    return rows


def maxima(cells: Iterable[Cell]) -> list[Maximum]:
    """The maximum of every platform, setting and context that has a usable trial."""
    return [maximum_of(group) for group in in_groups(cells)]


def in_groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """The loads of each platform, setting and context, those with a usable trial."""
    groups: dict[tuple[str, Setting, str], list[Cell]] = {}
    for cell in cells:
        if cell.blocks:
            groups.setdefault((cell.platform, cell.setting, cell.uut_context), []).append(cell)
    return [*groups.values()]


def maximum_of(cells: Sequence[Cell]) -> Maximum:
    """Return the maximum of one platform over these loads, each with a usable trial."""
    by_load = {cell.key: received_by_block(cell) for cell in cells}
    caps = {
        cell.key: load_cap(cell.level, frame_levels(cell.setting).streams)
        for cell in cells
        if cell.level is not None
    }
    adaptive = cells[0].adaptive
    picked, interval = _pick(by_load, caps, adaptive, CONFIDENCE)
    carried = max((cell for cell in cells if is_carried_in_full(cell)), key=_received, default=None)
    # The estimate is freed of the bias of picking, and so may lie below a load that was carried in full.
    if carried is not None and _received(carried) > interval.mean * (1 + _ROUNDING):
        by_load = {carried.key: by_load[carried.key]}
        picked, interval = _pick(by_load, caps, adaptive, CONFIDENCE)
    best = next(cell for cell in cells if cell.key == picked)
    limit = _limit(best, cells, interval.mean)
    bound = Bound.of([limit])
    received = estimate(interval, best.left_out).read_as(bound)
    return Maximum(
        platform=best.platform,
        setting=best.setting,
        intended_mbps=best.level,
        uut_context=best.uut_context,
        received_mbps=received,
        without_sink_mbps=_without_sink(best, received),
        stream_received_mbps=_streams(best, bound),
        loss_ratio=best.estimate(LOSS),
        limit=limit,
        cell=best,
        by_load_mbps=by_load,
        caps_mbps=caps,
    )


def _pick(
    by_load: Mapping[str, Mapping[int, float]], caps: Mapping[str, float], adaptive: bool, confidence: float
) -> tuple[str, Interval]:
    """The load that carries the most, and the interval of the maximum itself."""
    if adaptive:
        ladder = _ladder(by_load, caps, confidence)
        return ladder.best, STEPS.of_mean(ladder.interval)
    selected = select_maximum(by_load, confidence, STEPS.share)
    if selected is None:
        raise ValueError("a maximum needs a cell with a usable trial")
    return selected.load, STEPS.of_mean(selected.interval)


def _ladder(
    by_load: Mapping[str, Mapping[int, float]], caps: Mapping[str, float], confidence: float
) -> Ladder[str]:
    return climb({load: list(values.values()) for load, values in by_load.items()}, caps, confidence)


def _limit(best: Cell, cells: Sequence[Cell], maximum_mbps: float) -> Limit | None:
    """What bounded the maximum in the platform's stead; None where the platform showed its own limit in every trial.

    A trial at another load that carried more than the maximum, and might have carried yet more, bounds it as well.
    Loads that differ by less than a carried one may lose are one load, as the link's rate and the flood are
    where the link bounds both: the mark of either says what bounded it.
    """
    beyond = [
        limit
        for cell in cells
        for limit, mbps in zip(own_limits(cell), received_by_block(cell).values(), strict=True)
        if mbps > maximum_mbps
    ]
    bounding = [*own_limits(best), *beyond]
    if not any(bounding):
        return None
    least = (1 - CARRIED_IN_FULL_LOSS_RATIO) * _offered(best)
    alike = [limit for cell in cells if _offered(cell) >= least for limit in own_limits(cell)]
    return main_limit([*bounding, *alike])


def _without_sink(cell: Cell, received_mbps: Estimate) -> Estimate | None:
    """Return a cell's maximum where all of the sink's time went into more frames."""
    sink_percent = cell.values(SINK.column)
    if not sink_percent or received_mbps.bound is not Bound.EXACT:
        return None
    middle = median if received_mbps.centre is Centre.MEDIAN else fmean
    left = 1 - middle(sink_percent) / 100
    return received_mbps.map(lambda mbps: mbps / left).read_as(Bound.AT_MOST) if left > 0 else None


def received_by_block(cell: Cell) -> dict[int, float]:
    """Return the throughput of all streams together by block, Mbit/s."""
    return cell.by_block(THROUGHPUT.column)


def _received(cell: Cell) -> float:
    return fmean(received_by_block(cell).values())


def _offered(cell: Cell) -> float:
    return fmean(cell.by_block(OFFERED.column).values())


def _streams(cell: Cell, bound: Bound) -> dict[int, Estimate]:
    return {stream: each.read_as(bound) for stream, each in cell.of_parts({}).items()}
