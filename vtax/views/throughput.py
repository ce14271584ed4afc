"""Throughput by load, and the largest of it (schlosser2011, Fig. 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from vtax.statistics import climb, load_cap, select_maximum
from vtax.statistics.anytime import Ladder
from vtax.statistics.interval import CONFIDENCE
from vtax.views.cells import CARRIED_IN_FULL_LOSS_RATIO, Cell, Limit, Setting, by_block
from vtax.views.estimate import Estimate, estimate, mean_estimate


@dataclass(frozen=True)
class Throughput:
    """What a platform carried at one load, accumulated over the streams and for each stream (layer 1).

    `intended_mbps` is a stream's load, None for the flood. `generator_limited` tells that the generator's
    ceiling set the offered load, `lower_bound` that the source fell short of the intended load and the
    platform carried it all the same, so that it might carry more there.
    """

    key: str
    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    offered_mbps: Estimate
    received_mbps: Estimate
    loss_ratio: Estimate | None
    stream_received_mbps: dict[int, Estimate]
    generator_limited: bool
    lower_bound: bool
    carried_in_full: bool
    marks: dict[str, int]
    recorded: int
    invalid: int
    suspect: int


@dataclass(frozen=True)
class Maximum:
    """The largest mean throughput over the loads, which need not be the one at the largest load.

    `received_mbps` is that of the maximum itself, freed of the bias and with bounds for having been picked; the
    streams' means and the loss are of the load that was picked. `by_load_mbps` holds each load's {block: value},
    for comparing maxima, and `caps_mbps` what each paced one cannot exceed. Unless the platform showed its own
    limit, at this load or a higher one, the maximum is only a `lower_bound`, and `limit` is what bounded it.
    `generator_limited` is that of the cell that was selected.
    """

    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    received_mbps: Estimate
    stream_received_mbps: dict[int, Estimate]
    loss_ratio: Estimate | None
    generator_limited: bool
    limit: Limit | None
    lower_bound: bool
    cell: Cell
    by_load_mbps: Mapping[str, Mapping[int, float]]
    caps_mbps: Mapping[str, float]

    @property
    def key(self) -> str:
        """The picked cell's."""
        return self.cell.key

    def ladder(self, confidence: float) -> Ladder[str]:
        """The maximum where what was measured decided how often: its interval holds at any such moment."""
        return _ladder(self.by_load_mbps, self.caps_mbps, confidence)


def throughput_by_load(cells: Iterable[Cell]) -> list[Throughput]:
    """A row a cell with usable trials, in the order of `cells`."""
    rows = []
    for cell in cells:
        if not cell.blocks:
            continue
        rows.append(
            Throughput(
                key=cell.key,
                platform=cell.platform,
                setting=cell.setting,
                intended_mbps=cell.intended_mbps,
                uut_context=cell.uut_context,
                offered_mbps=mean_estimate(cell.offered_mbps, cell.left_out, cell.mean),
                received_mbps=mean_estimate(cell.received_mbps, cell.left_out, cell.mean),
                loss_ratio=_loss(cell),
                stream_received_mbps=_streams(cell),
                generator_limited=cell.generator_limited,
                lower_bound=cell.lower_bound and not cell.carried_in_full,
                carried_in_full=cell.carried_in_full,
                marks=cell.marks,
                recorded=cell.recorded,
                invalid=cell.invalid,
                suspect=cell.suspect,
            )
        )
    return rows


def maxima(cells: Iterable[Cell]) -> list[Maximum]:
    """The maximum of every platform, setting and context that has a usable trial."""
    groups: dict[tuple[str, Setting, str], list[Cell]] = {}
    for cell in cells:
        if cell.blocks:
            groups.setdefault((cell.platform, cell.setting, cell.uut_context), []).append(cell)
    return [_maximum(group) for group in groups.values()]


def _maximum(cells: list[Cell]) -> Maximum:
    by_load = {cell.key: by_block(cell.blocks, cell.received_mbps) for cell in cells}
    caps = {
        cell.key: load_cap(cell.intended_mbps, cell.setting.streams)
        for cell in cells
        if cell.intended_mbps is not None
    }
    if cells[0].adaptive:
        ladder = _ladder(by_load, caps, CONFIDENCE)
        picked, interval = ladder.best, ladder.interval
    else:
        selected = select_maximum(by_load)
        if selected is None:
            raise ValueError("a maximum needs a cell with a usable trial")
        picked, interval = selected.load, selected.interval
    best = next(cell for cell in cells if cell.key == picked)
    limit = _limit(best, cells)
    return Maximum(
        platform=best.platform,
        setting=best.setting,
        intended_mbps=best.intended_mbps,
        uut_context=best.uut_context,
        received_mbps=estimate(interval, best.left_out),
        stream_received_mbps=_streams(best),
        loss_ratio=_loss(best),
        generator_limited=best.generator_limited,
        limit=limit,
        lower_bound=limit is not None,
        cell=best,
        by_load_mbps=by_load,
        caps_mbps=caps,
    )


def _ladder(
    by_load: Mapping[str, Mapping[int, float]], caps: Mapping[str, float], confidence: float
) -> Ladder[str]:
    return climb({load: list(values.values()) for load, values in by_load.items()}, caps, confidence)


def _limit(best: Cell, cells: list[Cell]) -> Limit | None:
    """What bounded the maximum in the platform's stead; None where the platform showed its own limit.

    Loads that differ by less than a carried one may lose are one load, as the link's rate and the flood are
    where the link bounds both: the mark of either says what bounded it.
    """
    offered = fmean(best.offered_mbps)
    higher = [cell for cell in cells if fmean(cell.offered_mbps) > offered]
    if any(cell.limit is None for cell in [best, *higher]):
        return None
    alike = [cell for cell in cells if fmean(cell.offered_mbps) >= (1 - CARRIED_IN_FULL_LOSS_RATIO) * offered]
    limits = [cell.limit for cell in [best, *alike] if cell.limit]
    return next((limit for limit in limits if limit is not Limit.OFFERED), Limit.OFFERED)


def _loss(cell: Cell) -> Estimate | None:
    known = [ratio for ratio in cell.loss_ratio if ratio is not None]
    if not known:
        return None
    return mean_estimate(known, cell.left_out, cell.mean)


def _streams(cell: Cell) -> dict[int, Estimate]:
    return {
        stream: mean_estimate(received, cell.left_out, cell.mean)
        for stream, received in cell.stream_received_mbps.items()
    }
