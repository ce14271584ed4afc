"""Throughput within a loss goal: the largest of the loads that were measured, and the least that lost too much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from msgspec import Struct

from vtax.model.bound import Limit
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate
from vtax.model.frames import OFFERED, RECEIVED_FPS, loses_more
from vtax.model.levels import Setting
from vtax.model.metric import VICTIM
from vtax.model.metrics import CARRIED_IN_FULL_LOSS_RATIO, LOSS, THROUGHPUT
from vtax.model.reading import USABLE
from vtax.results import Result
from vtax.views.metrics import Key
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
    none. `undecided` is why the losses at the next load may be the machine's, so that it is no bound.
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


class CellFrames(Struct, frozen=True):
    """Frames of a cell's usable trials.

    Of `lossy` trials, which lost some, `by_pauses` are those in which the machine paused for longer than a ring takes
    to fill, and that lost no more than a stream offers meanwhile. `pause_ns` is the longest pause of a lossy trial,
    None where none was watched.
    """

    cell: str
    uut_context: str
    sent: int | None
    lost: int | None
    lossy: int
    by_pauses: int
    pause_ns: float | None

    @property
    def undecided(self) -> str | None:
        """Why the losses may be the machine's; None where some may not."""
        if self.by_pauses < self.lossy or self.pause_ns is None:
            return None
        return f"the machine paused for up to {self.pause_ns / 1e6:.1f} ms, and {RING_FRAMES} frames wait in a queue"


# Trials of results from before sources watched their own pauses have no column of these.
_FRAMES = f"""
WITH {USABLE}, victim AS (
    SELECT trial_id, sum(frames_sent) AS sent, sum(frames_lost) AS lost, max(offered_fps) AS fps
    FROM {VICTIM.rows} GROUP BY trial_id
), paused AS (
    SELECT trial_id, greatest(longest_pause_ns, uut_longest_pause_ns) AS pause_ns
    FROM (SELECT * FROM trials UNION ALL BY NAME SELECT NULL::DOUBLE AS longest_pause_ns WHERE false)
), trial AS (
    SELECT cell, uut_context, sent, lost, pause_ns, pause_ns / 1e9 * fps AS meanwhile
    FROM usable JOIN victim USING (trial_id) JOIN paused USING (trial_id)
)
SELECT cell, uut_context, sum(sent)::BIGINT AS sent, sum(lost)::BIGINT AS lost, count(*) FILTER (lost > 0) AS lossy,
       count(*) FILTER (lost > 0 AND meanwhile > {RING_FRAMES} AND lost <= meanwhile) AS by_pauses,
       max(pause_ns) FILTER (lost > 0) AS pause_ns
FROM trial GROUP BY ALL
"""  # noqa: S608, made of constants


def read_frames(result: Result) -> dict[Key, CellFrames]:
    """Return the frames of every cell with a usable trial."""
    return {(row.cell, row.uut_context): row for row in result.read(_FRAMES, CellFrames)}


def capacities(cells: Iterable[Cell], frames: Mapping[Key, CellFrames]) -> list[Capacity]:
    """Return the PDR and the NDR of every platform, setting and context that has a usable trial."""
    found = []
    for group in in_groups(cell for cell in cells if cell.values(LOSS.column)):
        within, beyond = _walk(group, PDR)
        lossless, lossy = _walk(group, NDR)
        undecided = None
        # A load whose losses the machine's pauses explain bounds no NDR; what is beyond the PDR does.
        if lossy and lossy is not beyond and (own := frames.get(_key(lossy))) and own.undecided:
            lossy, undecided = beyond, own.undecided
        found.append(_capacity(PDR, group[0], within, beyond, frames))
        found.append(_capacity(NDR, group[0], lossless, lossy, frames, undecided))
    return found


def _walk(cells: Sequence[Cell], goal: Goal) -> tuple[list[Cell], Cell | None]:
    """Go up the loads to the first that lost too much, the flood last."""
    within: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: float("inf") if cell.level is None else cell.level):
        if loses_more(cell, goal.loss_ratio):
            return within, cell
        within.append(cell)
    return within, None


def _capacity(
    goal: Goal,
    place: Cell,
    within: Sequence[Cell],
    beyond: Cell | None,
    frames: Mapping[Key, CellFrames],
    undecided: str | None = None,
) -> Capacity:
    maximum = maximum_of(within) if within else None
    own = frames.get(_key(maximum.cell)) if maximum else None
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
        frames_sent=own.sent if own else None,
        frames_lost=own.lost if own else None,
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


def _key(cell: Cell) -> Key:
    return cell.key, cell.uut_context
