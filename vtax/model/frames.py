"""Frames by their load: the levels of their cells, what is offered, and what limited a load or a throughput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.model.cell import Aside, Cell, Parts, Reading
from vtax.model.dimensions import LOAD
from vtax.model.levels import Levels, Setting
from vtax.model.marks import (
    BACKPRESSURED,
    GENERATOR_LIMITED,
    LIMIT_UNKNOWN,
    LINK_LIMITED,
    UPLINK_LIMITED,
    marked,
)
from vtax.model.metric import ONE_IN_A_THOUSAND, Better, Metric
from vtax.model.metrics import CARRIED_IN_FULL_LOSS_RATIO, LOSS, THROUGHPUT
from vtax.model.quantity import Quantity

OFFERED = Metric(
    name="offered",
    column="offered_mbps",
    sql="sum(offered_mbps)",
    unit="Mbit/s",
    better=Better.HIGHER,
    form=numbers.mbps,
    resolution=ONE_IN_A_THOUSAND,
)
"""Layer 1, all streams together."""
RECEIVED_FPS = Metric(
    name="frame_rate",
    column="received_fps",
    sql="sum(received_fps)",
    unit="frames/s",
    better=Better.HIGHER,
    form=numbers.whole,
    is_bounded=True,
    resolution=ONE_IN_A_THOUSAND,
)
"""Frames that all streams together received a second."""

LIMITS = (None, *Limit)
"""A limit's number in a query is its place here; the largest of a block's trials counts."""


def _number(limit: Limit | None) -> int:
    return LIMITS.index(limit)


OWN_LIMIT = f"""
CASE WHEN {marked(UPLINK_LIMITED)} THEN {_number(Limit.LINK)}
     WHEN loss_ratio > {CARRIED_IN_FULL_LOSS_RATIO} THEN {_number(None)}
     WHEN {marked(GENERATOR_LIMITED)} THEN {_number(Limit.GENERATOR)}
     WHEN {marked(LINK_LIMITED)} THEN {_number(Limit.LINK)}
     WHEN {marked(LIMIT_UNKNOWN)} THEN {_number(Limit.UNKNOWN)}
     WHEN {marked(BACKPRESSURED)} THEN {_number(None)}
     ELSE {_number(Limit.OFFERED)} END
"""
"""The number of what bounded a trial's throughput in the platform's stead, in SQL.

A platform that lost frames, or held the source back, showed its own limit. What is lost before an uplink that streams
share is not lost by the platform.
"""
LOAD_LIMIT = f"""
CASE WHEN {marked(GENERATOR_LIMITED)} THEN {_number(Limit.GENERATOR)}
     WHEN {marked(LIMIT_UNKNOWN)} THEN {_number(Limit.UNKNOWN)} ELSE {_number(None)} END
"""
"""The number of what kept a trial's source from offering more, in SQL."""
OWN_LIMITS = Aside("limits", f"max({OWN_LIMIT})", needs=(LOSS,))
LOAD_LIMITS = Aside("load_limits", f"max({LOAD_LIMIT})")


class FrameLevels(Levels, frozen=True):
    """What cells of one setting have in common. Of `frame_bytes` and `frame_mix` one is None."""

    frame_bytes: int | None
    streams: int
    frame_mix: str | None

    @property
    def frames(self) -> str:
        """The frames in a sentence."""
        return f"{self.frame_mix} frames" if self.frame_mix else f"{self.frame_bytes}-byte frames"

    def factors(self, held: Mapping[str, str]) -> Mapping[str, str | float | None]:
        """Return frames and streams; guests behind one link have a stream each, whose number is theirs."""
        parallel = "guests" if held.get("uplink") == "shared" else "streams"
        return {"frame_bytes": self.frame_mix or self.frame_bytes, parallel: self.streams}

    @property
    def phrases(self) -> Sequence[str]:
        """Frames and streams."""
        return (self.frames, f"{self.streams} stream{'s' if self.streams > 1 else ''}")

    @property
    def rank(self) -> tuple[str, int, int]:
        """Shorter frames come first, mixes last."""
        return (self.frame_mix or "", self.frame_bytes or 0, self.streams)


def frame_levels(setting: Setting) -> FrameLevels:
    """Return a setting's levels, which are frames'."""
    return setting.of(FrameLevels)


def without_streams(setting: Setting) -> str:
    """Return the label of what is held fixed while the number of streams varies."""
    further = (f"{name} = {value}" for name, value in setting.shown)
    return ", ".join([frame_levels(setting).frames, *further])


def own_limits(cell: Cell) -> list[Limit | None]:
    """Return what bounded each block's throughput in the platform's stead; None where the platform's own limit did."""
    return _limits(cell, OWN_LIMITS)


def throughput_limits(cell: Cell) -> dict[int, Limit]:
    """Return the same by block. At a stated load throughput is what was carried there; a flood states none."""
    return _by_block(cell, own_limits(cell)) if cell.level is None else {}


def load_limits(cell: Cell) -> dict[int, Limit]:
    """Return what kept the source from offering more, by block."""
    return _by_block(cell, _limits(cell, LOAD_LIMITS))


def is_generator_limited(cell: Cell) -> bool:
    """Whether the generator's ceiling, not the platform, set the load of any of the trials."""
    return cell.marks.get(GENERATOR_LIMITED, 0) > 0


def loses_frames(cell: Cell) -> bool:
    """Whether more was lost than a carried load may lose."""
    return loses_more(cell, CARRIED_IN_FULL_LOSS_RATIO)


def loses_more(cell: Cell, ratio: float) -> bool:
    """Whether the platform lost more than this in the mean of the repetitions.

    Where much was lost and the throughput is a bound all the same, it was lost before an uplink that streams share.
    """
    limits = _by_block(cell, own_limits(cell))
    own = [
        loss
        for block, loss in cell.by_block(LOSS.column).items()
        if loss <= CARRIED_IN_FULL_LOSS_RATIO or block not in limits
    ]
    return bool(own) and sum(own) / len(own) > ratio


def is_carried_in_full(cell: Cell) -> bool:
    """Whether it is a paced load that was offered as intended and arrived."""
    return cell.is_usable and cell.level is not None and not cell.marks and not loses_frames(cell)


def _limits(cell: Cell, aside: Aside) -> list[Limit | None]:
    return [LIMITS[int(number or 0)] for number in cell.columns.get(aside.column, ())]


def _by_block(cell: Cell, limits: Sequence[Limit | None]) -> dict[int, Limit]:
    return {block: limit for block, limit in zip(cell.blocks, limits, strict=True) if limit}


MAXIMUM_MBPS = Quantity("maximum_mbps", THROUGHPUT.unit, THROUGHPUT.form)
"""The largest throughput over the loads, which no cell has alone."""

READING = Reading(
    FrameLevels,
    LOAD,
    asides=(OWN_LIMITS, LOAD_LIMITS),
    limits=throughput_limits,
    parts=Parts("stream", THROUGHPUT),
)
