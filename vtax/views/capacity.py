"""Throughput within a loss goal: the largest of the loads that were measured, and the least that lost too much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from vtax.model.bound import Limit
from vtax.model.cell import Aside, Cell
from vtax.model.estimate import Estimate
from vtax.model.frames import LONGEST_PAUSE, LOST, OFFERED, RECEIVED_FPS, SENT, frame_levels, loses_more
from vtax.model.levels import Setting
from vtax.model.metrics import CARRIED_IN_FULL_LOSS_RATIO, LOSS, THROUGHPUT
from vtax.views.throughput import Maximum, in_groups, maximum_of

RING_FRAMES = 256
"""Frames that the shortest queue on the path holds: the ring of a veth, and of virtio by default."""


@dataclass(frozen=True)
class Goal:
    """What a load may lose, the mean of its repetitions."""

    name: str
    loss_ratio: float

    @property
    def percent(self) -> str:
        """The loss ratio in a sentence."""
        return f"{self.loss_ratio * 100:g}%"


PDR = Goal("PDR", CARRIED_IN_FULL_LOSS_RATIO)
"""The partial drop rate, by the loss ratio of FD.io CSIT."""
NDR = Goal("NDR", 0.0)
"""No drop at all: the throughput of RFC 1242, 3.17."""


@dataclass(frozen=True)
class Capacity:
    """The largest throughput over the loads within a goal, up to the least load that was not within it.

    `maximum` is None where no load was within the goal; `received_fps` is the same in frames a second. `frames_sent`
    and `frames_lost` are those of the load that carried most, all repetitions, None where that is not known.
    `less_than_mbps` is what all streams offered at the load `beyond`, the least that lost more; None where there was
    none. `undecided` says why losses at the next load say nothing of the platform: then it is no bound.
    """

    platform: str
    setting: Setting
    uut_context: str
    goal: str
    loss_ratio: float
    maximum: Maximum | None
    received_fps: Estimate | None
    less_than_mbps: float | None
    frames_sent: int | None
    frames_lost: int | None
    undecided: str | None
    beyond: Cell | None = field(metadata={"in_document": False})

    @property
    def key(self) -> str:
        """The cell's that carried most, or that was beyond the goal; empty where neither is known."""
        cell = self.maximum.cell if self.maximum else self.beyond
        return cell.key if cell else ""

    @property
    def received_mbps(self) -> Estimate | None:
        """What is carried within the goal."""
        return self.maximum.received_mbps if self.maximum else None

    @property
    def limit(self) -> Limit | None:
        """What bounded it in the platform's stead."""
        return self.maximum.limit if self.maximum else None

    @property
    def is_bracketed(self) -> bool:
        """Whether it lies between two loads, rather than having been measured."""
        return self.beyond is not None and self.limit is not None


def capacities(cells: Iterable[Cell]) -> list[Capacity]:
    """Return the PDR and the NDR of every platform, setting and context that has a usable trial."""
    found = []
    for group in in_groups(cell for cell in cells if cell.values(LOSS.column)):
        partial = _partial(group)
        found += [partial, _lossless(group, partial)]
    return found


def _partial(cells: Sequence[Cell]) -> Capacity:
    within, beyond = _walk(cells, PDR)
    return _capacity(PDR, cells[0], within, beyond)


def _lossless(cells: Sequence[Cell], partial: Capacity) -> Capacity:
    """A load whose losses the machine's pauses explain is no bound; what is beyond the PDR bounds the NDR too."""
    within, beyond = _walk(cells, NDR)
    undecided = _paused(beyond) if beyond and beyond is not partial.beyond else None
    return _capacity(NDR, cells[0], within, partial.beyond if undecided else beyond, undecided)


def _walk(cells: Sequence[Cell], goal: Goal) -> tuple[list[Cell], Cell | None]:
    """Go up the loads to the first that lost too much, the flood last."""
    within: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: float("inf") if cell.level is None else cell.level):
        if loses_more(cell, goal.loss_ratio):
            return within, cell
        within.append(cell)
    return within, None


def _capacity(
    goal: Goal, place: Cell, within: Sequence[Cell], beyond: Cell | None, undecided: str | None = None
) -> Capacity:
    maximum = maximum_of(within) if within else None
    # A source that was held back at a higher load may have offered less than was carried at a lower one.
    if beyond and maximum and _offered(beyond) <= maximum.received_mbps.value:
        beyond = None
    return Capacity(
        platform=place.platform,
        setting=place.setting,
        uut_context=place.uut_context,
        goal=goal.name,
        loss_ratio=goal.loss_ratio,
        maximum=maximum,
        received_fps=_fps(maximum) if maximum else None,
        less_than_mbps=_offered(beyond) if beyond else None,
        frames_sent=_total(maximum, SENT),
        frames_lost=_total(maximum, LOST),
        undecided=undecided,
        beyond=beyond,
    )


def _fps(maximum: Maximum) -> Estimate | None:
    """The maximum in frames a second, as those of its load are to what it took of the link."""
    fps, mbps = (maximum.cell.by_block(metric.column) for metric in (RECEIVED_FPS, THROUGHPUT))
    if fps.keys() != mbps.keys() or not any(mbps.values()):
        return None
    frames = fmean(fps.values()) / fmean(mbps.values())
    return maximum.received_mbps.map(lambda each: each * frames)


def _offered(cell: Cell) -> float:
    return fmean(cell.values(OFFERED.column))


def _total(maximum: Maximum | None, frames: Aside) -> int | None:
    known = maximum.cell.values(frames.column) if maximum else ()
    return round(sum(known)) if known else None


def _paused(cell: Cell) -> str | None:
    """Why the losses may be the machine's: in each repetition it paused for longer than a ring takes to fill.

    And no more was lost than one stream offers meanwhile.
    """
    columns = (LOST.column, SENT.column, RECEIVED_FPS.column, LONGEST_PAUSE.column)
    by_block = [cell.by_block(column) for column in columns]
    streams, longest_ns = frame_levels(cell.setting).streams, 0.0
    for block in cell.blocks:
        lost, sent, fps, pause_ns = (values.get(block, 0.0) for values in by_block)
        if not lost:
            continue
        received = sent - lost
        came_meanwhile = pause_ns / 1e9 * fps * (sent / received if received else 0.0) / streams
        if came_meanwhile <= RING_FRAMES or lost > came_meanwhile:
            return None
        longest_ns = max(longest_ns, pause_ns)
    return f"the machine paused for up to {longest_ns / 1e6:.1f} ms, and {RING_FRAMES} frames wait in a queue"
