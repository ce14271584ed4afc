"""Usable trials as columns of numbers, a cell a row: what every table and figure is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import pyarrow as pa
from msgspec import Struct

from vtax.results import Result
from vtax.statistics import MeanInterval, anytime_interval, mean_interval
from vtax.views.bound import Bound, Limit
from vtax.views.recorded import Further, recorded_cells
from vtax.views.series import series

GENERATOR_LIMITED, LINK_LIMITED, BACKPRESSURED = "generator-limited", "link-limited", "backpressured"
UPLINK_LIMITED, LIMIT_UNKNOWN = "uplink-limited", "limit-unknown"
CARRIED_IN_FULL_LOSS_RATIO = 0.005
"""Most loss at which a load still counts as carried in full: the partial drop rate that FD.io CSIT uses."""

Value = TypeVar("Value")
Name = TypeVar("Name")


LIMITS = (None, *Limit)
"""A limit's number in a query is its place here; the largest of a block's trials counts."""

# The trials that enter means. Every query averages a cell's trials of one block (repeated attempts), so that
# a block weighs the same in each mean and each pair.
USABLE = """
usable AS (
    SELECT trial_id, cell, platform, coalesce(uut_context, 'unknown') AS uut_context, block, marks
    FROM untraced WHERE verdict <> 'invalid'
)
"""


def _number(limit: Limit | None) -> int:
    return LIMITS.index(limit)


def _marked(mark: str) -> str:
    """Whether a trial has a mark, in SQL."""
    return f"coalesce(list_contains(marks, '{mark}'), false)"


OWN_LIMIT = f"""
CASE WHEN {_marked(UPLINK_LIMITED)} THEN {_number(Limit.LINK)}
     WHEN loss_ratio > {CARRIED_IN_FULL_LOSS_RATIO} THEN {_number(None)}
     WHEN {_marked(GENERATOR_LIMITED)} THEN {_number(Limit.GENERATOR)}
     WHEN {_marked(LINK_LIMITED)} THEN {_number(Limit.LINK)}
     WHEN {_marked(LIMIT_UNKNOWN)} THEN {_number(Limit.UNKNOWN)}
     WHEN {_marked(BACKPRESSURED)} THEN {_number(None)}
     ELSE {_number(Limit.OFFERED)} END
"""
"""The number of what bounded a trial's throughput in the platform's stead, in SQL.

A platform that lost frames, or held the source back, showed its own limit. What is lost before an uplink that streams
share is not lost by the platform.
"""
_LOAD_LIMIT = f"""
CASE WHEN {_marked(GENERATOR_LIMITED)} THEN {_number(Limit.GENERATOR)}
     WHEN {_marked(LIMIT_UNKNOWN)} THEN {_number(Limit.UNKNOWN)} ELSE {_number(None)} END
"""

_CELLS = f"""
WITH {USABLE}, flow AS (
    SELECT trial_id, sum(offered_mbps) AS offered_mbps, sum(received_mbps) AS received_mbps,
           sum(frames_lost) / nullif(sum(frames_sent), 0) AS loss_ratio
    FROM flows WHERE role = 'victim' GROUP BY trial_id
), host AS (
    SELECT trial_id, sum(percent) AS percent FROM cpu
    WHERE domain = 'host' AND component = 'total' GROUP BY trial_id
), blocks AS (
    SELECT cell, uut_context, block, avg(offered_mbps) AS offered_mbps, avg(received_mbps) AS received_mbps,
           avg(loss_ratio) AS loss_ratio, avg(host.percent) AS host_percent,
           max({OWN_LIMIT}) AS limits, max({_LOAD_LIMIT}) AS load_limits
    FROM usable JOIN flow USING (trial_id) LEFT JOIN host USING (trial_id) GROUP BY ALL
)
SELECT cell, uut_context, list(block ORDER BY block) AS blocks,
       list(offered_mbps ORDER BY block) AS offered_mbps, list(received_mbps ORDER BY block) AS received_mbps,
       list(loss_ratio ORDER BY block) AS loss_ratio, list(host_percent ORDER BY block) AS host_percent,
       list(limits ORDER BY block) AS limits, list(load_limits ORDER BY block) AS load_limits
FROM blocks GROUP BY ALL
"""  # noqa: S608, made of constants

_STREAMS = f"""
WITH {USABLE}, blocks AS (
    SELECT cell, uut_context, stream, block, avg(received_mbps) AS received_mbps
    FROM usable JOIN flows USING (trial_id) WHERE role = 'victim' GROUP BY ALL
)
SELECT cell, uut_context, stream, list(received_mbps ORDER BY block) AS received_mbps
FROM blocks GROUP BY ALL ORDER BY stream
"""  # noqa: S608, made of constants

_MARKS = f"""
WITH {USABLE}
SELECT cell, uut_context, mark, count(*) AS trials
FROM (SELECT cell, uut_context, unnest(marks) AS mark FROM usable) GROUP BY ALL ORDER BY mark
"""  # noqa: S608, made of constants


class _Levels(Struct, frozen=True):
    """What cells differ by."""

    frame_bytes: int | None
    streams: int
    frame_mix: str | None
    intended_mbps: float | None


class _Measured(NamedTuple):
    """What a cell's trials of one context measured, a value a block."""

    blocks: Sequence[int] = ()
    offered_mbps: Sequence[float] = ()
    received_mbps: Sequence[float] = ()
    loss_ratio: Sequence[float | None] = ()
    host_percent: Sequence[float | None] = ()
    limits: Sequence[Limit | None] = ()
    load_limits: Sequence[Limit | None] = ()


@dataclass(frozen=True)
class Setting:
    """What is held fixed while platforms and loads are compared. Of `frame_bytes` and `frame_mix` one is None."""

    frame_bytes: int | None
    streams: int
    further: Further = ()
    frame_mix: str | None = None

    def __lt__(self, other: Setting) -> bool:
        """Shorter frames come first, mixes last."""
        return self._rank < other._rank

    @property
    def frames(self) -> str:
        """The frames in a sentence."""
        return f"{self.frame_mix} frames" if self.frame_mix else f"{self.frame_bytes}-byte frames"

    @property
    def label(self) -> str:
        """As a table's caption and a panel's title say it."""
        streams = f"{self.streams} stream{'s' if self.streams > 1 else ''}"
        return ", ".join([self.frames, streams, *self._further])

    @property
    def without_streams(self) -> str:
        """The label of what is held fixed while the number of streams varies."""
        return ", ".join([self.frames, *self._further])

    @property
    def _rank(self) -> tuple[str, int, int, Further]:
        return (self.frame_mix or "", self.frame_bytes or 0, self.streams, self.further)

    @property
    def _further(self) -> list[str]:
        return [f"{name} = {value}" for name, value in self.further]


@dataclass(frozen=True)
class Cell:
    """A cell of the grid with what its trials measured. Lists run over the blocks with a usable trial.

    `intended_mbps` is a stream's load and None for the flood (`max`). `offered_mbps`, `received_mbps` (layer
    1) and `loss_ratio` are accumulated over the streams; `host_percent` is the busy time of the unit under
    test's CPUs (100 = one CPU), None where it was not read. `limits` are what bounded the throughput in the platform's
    stead, None where the platform showed its own limit; `load_limits` what kept the source from offering more. Both
    are decided trial by trial. `stream_received_mbps` has the lists by stream. `adaptive` tells that what they showed
    decided how many blocks there are.
    """

    key: str
    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    recorded: int
    invalid: int
    suspect: int
    marks: dict[str, int] = field(default_factory=dict)
    blocks: Sequence[int] = ()
    offered_mbps: Sequence[float] = ()
    received_mbps: Sequence[float] = ()
    loss_ratio: Sequence[float | None] = ()
    host_percent: Sequence[float | None] = ()
    limits: Sequence[Limit | None] = ()
    load_limits: Sequence[Limit | None] = ()
    stream_received_mbps: dict[int, Sequence[float]] = field(default_factory=dict)
    adaptive: bool = False

    @property
    def mean(self) -> MeanInterval:
        """How intervals of its means are taken."""
        return anytime_interval if self.adaptive else mean_interval

    @property
    def is_usable(self) -> bool:
        """Whether it has a trial that can be shown."""
        return bool(self.blocks)

    @property
    def left_out(self) -> float:
        """Share of the cell's recorded trials that are invalid."""
        return self.invalid / self.recorded if self.recorded else 0.0

    @property
    def generator_limited(self) -> bool:
        """Whether the generator's ceiling, not the platform, set the load of any of the trials."""
        return self.marks.get(GENERATOR_LIMITED, 0) > 0

    @property
    def loses_frames(self) -> bool:
        """Whether more was lost than a carried load may lose."""
        known = [ratio for ratio in self.loss_ratio if ratio is not None]
        return bool(known) and sum(known) / len(known) > CARRIED_IN_FULL_LOSS_RATIO

    @property
    def throughput_limits(self) -> dict[int, Limit]:
        """What bounded its throughput by block. At a stated load it is what was carried there; a flood states none."""
        return by_block(self.blocks, self.limits) if self.intended_mbps is None else {}

    @property
    def bound(self) -> Bound:
        """How its throughput is read."""
        return Bound.of(self.throughput_limits.values())

    @property
    def carried_in_full(self) -> bool:
        """A paced load that was offered as intended and arrived."""
        return (
            bool(self.blocks) and self.intended_mbps is not None and not self.marks and not self.loses_frames
        )


def load_label(intended_mbps: float | None) -> str:
    """The factor's text: `max` for the flood."""
    return "max" if intended_mbps is None else f"{intended_mbps:g}"


def load_phrase(intended_mbps: float | None) -> str:
    """The load in a sentence."""
    return "the flood (max)" if intended_mbps is None else f"{intended_mbps:g} Mbit/s"


def load_order(intended_mbps: float | None) -> float:
    """Sorts loads upwards, the flood last."""
    return float("inf") if intended_mbps is None else intended_mbps


def by_block(blocks: Sequence[int], values: Sequence[Value | None]) -> dict[int, Value]:
    """A cell's values as {block: value}, ready for pairing; unknown ones are left out."""
    return {block: value for block, value in zip(blocks, values, strict=True) if value is not None}


def read_cells(result: Result, platforms: tuple[str, ...]) -> list[Cell]:
    """Every cell that has a recorded trial, usable or not, in the order platform, setting, load.

    A cell whose trials ran in more than one `uut_context` comes once for each context, because no mean and no
    ratio is formed across the two.
    """
    adaptive = bool(result.scenario.get("precision"))
    measured_in: dict[str, dict[str, _Measured]] = {}
    rows = result.query(_CELLS)
    for cell, context, *lists in zip(
        *(rows[name].to_pylist() for name in ("cell", "uut_context")),
        *(series(rows[name]) for name in _Measured._fields),
        strict=True,
    ):
        *numbers, limits, load_limits = lists
        own = (tuple(LIMITS[number] for number in each) for each in (limits, load_limits))
        measured_in.setdefault(cell, {})[context] = _Measured(*numbers, *own)
    rows = result.query(_STREAMS)
    numbers_of_streams: list[int] = rows["stream"].to_pylist()
    streams = _by_cell(rows, numbers_of_streams, series(rows["received_mbps"]))
    rows = result.query(_MARKS)
    names: list[str] = rows["mark"].to_pylist()
    trials: list[int] = rows["trials"].to_pylist()
    marks = _by_cell(rows, names, trials)
    cells = []
    for row in recorded_cells(result, _Levels):
        key, levels = row.key, row.levels
        for context, measured in measured_in.get(key, {"unknown": _Measured()}).items():
            cells.append(
                Cell(
                    key=key,
                    platform=row.platform,
                    setting=Setting(levels.frame_bytes, levels.streams, row.further, levels.frame_mix),
                    intended_mbps=levels.intended_mbps,
                    uut_context=context,
                    recorded=row.recorded,
                    invalid=row.invalid,
                    suspect=row.suspect,
                    marks=marks.get((key, context), {}),
                    adaptive=adaptive,
                    stream_received_mbps=streams.get((key, context), {}),
                    blocks=measured.blocks,
                    offered_mbps=measured.offered_mbps,
                    received_mbps=measured.received_mbps,
                    loss_ratio=measured.loss_ratio,
                    host_percent=measured.host_percent,
                    limits=measured.limits,
                    load_limits=measured.load_limits,
                )
            )
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(
        cells,
        key=lambda cell: (
            rank.get(cell.platform, len(rank)),
            cell.setting,
            load_order(cell.intended_mbps),
            cell.uut_context,
        ),
    )


def _by_cell(
    rows: pa.Table, names: Iterable[Name], values: Iterable[Value]
) -> dict[tuple[str, str], dict[Name, Value]]:
    """A value a row by its name, for each cell and context."""
    found: dict[tuple[str, str], dict[Name, Value]] = {}
    for cell, context, name, value in zip(
        *(rows[column].to_pylist() for column in ("cell", "uut_context")), names, values, strict=True
    ):
        found.setdefault((cell, context), {})[name] = value
    return found
