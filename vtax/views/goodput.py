"""Goodput of guests that share a link: each one's, all together, the fair share (anhalt2009, Table I)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from vtax.model.bound import Limit
from vtax.model.estimate import Estimate
from vtax.model.marks import FAR_END_BUSY
from vtax.model.recorded import Recorded
from vtax.model.sample import Sample
from vtax.model.streams import LINK_FULL, fills_link, link_goodput_mbps
from vtax.statistics import PER_MILLE, Interval, fair_share
from vtax.views.stream_cells import BulkTrial, StreamCell


@dataclass(frozen=True)
class Goodput(Recorded):
    """Layer-4 payload that arrived from, or at, so many guests; *at least* that where the far ends bounded it.

    `aggregate_mbps` is R aggregate, `fair_share_mbps` R aggregate / N, `by_guest_mbps` R i by the guest's number from
    0. `link_mbps` is what the link can carry, None where that is not known, and `of_link` the aggregate's share of it.
    `far_end_busy` tells that in some trial the CPU of the far ends had no time left.
    """

    guests: int
    aggregate_mbps: Estimate
    fair_share_mbps: Estimate
    by_guest_mbps: dict[int, Estimate]
    link_mbps: float | None
    of_link: Estimate | None
    far_end_busy: bool
    cell: StreamCell

    @property
    def fills_link(self) -> bool:
        """Whether the link has room for no more."""
        return self.of_link is not None and self.of_link.value >= LINK_FULL

    def scatter(self) -> Interval:
        """The aggregate's interval by scatter and steps alone, whatever bounded it."""
        sample = self.cell.sample(aggregate_mbps, PER_MILLE)
        if sample is None:
            raise ValueError("a goodput has a value")
        return sample.interval()


def goodput_by_guests(cells: Iterable[StreamCell], testbed: Mapping[str, JsonValue]) -> list[Goodput]:
    """A row a cell with usable trials, in the order of `cells`; `testbed` as link_goodput_mbps takes it."""
    rows = (_goodput(cell, testbed) for cell in cells)
    return [row for row in rows if row is not None]


def aggregate_mbps(trial: BulkTrial) -> float:
    """R aggregate of a trial."""
    return sum(trial.goodput_mbps.values())


def goodput_limits(cell: StreamCell, testbed: Mapping[str, JsonValue]) -> dict[int, Limit]:
    """The blocks whose goodput the far ends may have set: their CPU was busy in a trial that did not fill the link."""
    link_mbps = link_goodput_mbps(cell.setting, testbed)
    return {
        trial.block: Limit.FAR_END
        for trial in cell.trials
        if FAR_END_BUSY in trial.marks and not fills_link(aggregate_mbps(trial), link_mbps)
    }


def aggregate_sample(cell: StreamCell, testbed: Mapping[str, JsonValue]) -> Sample | None:
    """R aggregate by block, with what bounded it; None where the cell has no usable trial."""
    return cell.sample(aggregate_mbps, PER_MILLE, goodput_limits(cell, testbed))


def _goodput(cell: StreamCell, testbed: Mapping[str, JsonValue]) -> Goodput | None:
    link_mbps, limits = link_goodput_mbps(cell.setting, testbed), goodput_limits(cell, testbed)
    aggregate = cell.estimate(aggregate_mbps, PER_MILLE, limits)
    share = cell.estimate(lambda trial: fair_share(list(trial.goodput_mbps.values())), PER_MILLE, limits)
    if aggregate is None or share is None:
        return None
    return Goodput(
        key=cell.key,
        platform=cell.platform,
        setting=cell.setting,
        guests=cell.guests,
        aggregate_mbps=aggregate,
        fair_share_mbps=share,
        by_guest_mbps=cell.by_guest(
            lambda guest: lambda trial: trial.goodput_mbps.get(guest), PER_MILLE, limits, total=True
        ),
        link_mbps=link_mbps,
        of_link=aggregate.map(lambda mbps: mbps / link_mbps) if link_mbps else None,
        far_end_busy=any(FAR_END_BUSY in trial.marks for trial in cell.trials),
        recorded=cell.recorded,
        invalid=cell.invalid,
        suspect=cell.suspect,
        cell=cell,
    )
