"""Delay by stage of traced trials: what each host's stages took, as distributions over packets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from vtax.documents.show.published import PublishedStage
from vtax.model.dimensions import LOAD, load_phrase
from vtax.model.estimate import Estimate, estimate, repeated_estimate
from vtax.model.levels import Levels, Setting
from vtax.model.published import printed_rows
from vtax.model.reading import recorded_cells
from vtax.model.recorded import Recorded
from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.statistics import COUNTED, Distribution, decode, merge, quantile_interval, total_interval
from vtax.views.tracing_cost import added_by_tracing

TOTAL, UNATTRIBUTED = "total", "unattributed"
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
CURVE_POINTS = 200
"""Of a distribution as it is drawn and told."""
DIRECTIONS = ("rx", "through", "tx")

Place = tuple[str | None, str, str]
"""A stage's host, direction and name."""


class TracedLevels(Levels, frozen=True):
    """What cells of one setting have in common: those of requests by a placement, others by their frames."""

    guests: int
    transport: str | None
    placement: str | None
    message_bytes: int | None
    response_bytes: int | None
    frame_bytes: int | None
    frame_mix: str | None
    intended_mbps: float | None

    @property
    def at_once(self) -> int:
        """How many guests packets go through."""
        return 1 if self._is_of_requests and self.placement != "guest-to-peer" else self.guests

    @property
    def phrases(self) -> Sequence[str]:
        """The packets that were followed, and the guests."""
        return (self._packets, *([f"{self.at_once} guests"] if self.at_once > 1 else ()))

    @property
    def rank(self) -> tuple[float, str, int]:
        """By the load or the length of requests, then by guests."""
        load = float(self.message_bytes or 0) if self._is_of_requests else LOAD.order(self.intended_mbps)
        return load, self._packets, self.at_once

    @property
    def _is_of_requests(self) -> bool:
        return None not in (self.placement, self.transport, self.message_bytes)

    @property
    def _packets(self) -> str:
        if self._is_of_requests:
            answers = (
                f"{self.response_bytes}-byte answers" if self.response_bytes else "answers of equal length"
            )
            asked = f"{(self.transport or '').upper()} {self.placement}, {self.message_bytes}-byte requests"
            return f"{asked}, {answers}"
        frames = f"{self.frame_mix or self.frame_bytes}{'' if self.frame_mix else '-byte'} frames"
        return f"{frames} at {load_phrase(self.intended_mbps)}"


def traced_guests(setting: Setting) -> int:
    """Return how many guests the traced packets of a setting go through."""
    return setting.of(TracedLevels).at_once


_STAGES = """
SELECT cell, block, host, stages.direction, stage, min(stages.position) AS position, sum("count") AS packets,
       sum("count" * mean_ns) / nullif(sum("count"), 0) AS mean_ns, list(histogram) AS histograms
FROM traced JOIN stages USING (trial_id)
WHERE verdict <> 'invalid' AND "count" > 0 GROUP BY ALL ORDER BY block
"""

_TRIALS = """
WITH marks AS (
    SELECT trial_id, max(strayed) AS strayed, max(lost_events) AS lost, max(hook_ns) AS hook_ns,
           sum("count") FILTER (stage = 'total') AS packets
    FROM stages GROUP BY trial_id
)
SELECT cell, sum(packets) AS packets, sum(strayed) AS strayed, sum(lost) AS lost, avg(hook_ns) AS hook_ns
FROM traced JOIN marks USING (trial_id) WHERE verdict <> 'invalid' GROUP BY cell
"""


class StageBlock(Struct, frozen=True):
    """A stage of a cell in a block: its packets, their mean delay and their histograms."""

    cell: str
    block: int
    host: str | None
    direction: str
    stage: str
    position: int | None
    packets: int
    mean_ns: float
    histograms: list[str | None]


class _Followed(Struct, frozen=True):
    """The packets that were followed of a cell, and what following took."""

    cell: str
    packets: int | None
    strayed: int | None
    lost: int | None
    hook_ns: float | None


@dataclass(frozen=True)
class TracedCell(Recorded):
    """The traced trials of a cell: packets that were followed, and what following took.

    `hook_ns` is a hook's own time, `added_ns` what the median delay or response time of untraced trials had less.
    """

    packets: int
    strayed: int
    lost: int
    hook_ns: float | None
    added_ns: Estimate | None


@dataclass(frozen=True)
class StageDelay:
    """The delay of a stage of a host in one direction, over all guests and repetitions of a cell.

    `stage` is total for all of them, and unattributed for what of the delay or response time none has, which has a
    mean alone. Quantiles are those of a typical repetition. `curve` is the distribution: delays, ns, with the share of
    packets that took no longer.
    """

    key: str
    platform: str
    setting: Setting
    host: str | None
    direction: str
    stage: str
    position: int | None
    packets: int
    mean_ns: Estimate
    p50_ns: Estimate | None
    p90_ns: Estimate | None
    p99_ns: Estimate | None
    curve: tuple[tuple[float, float], ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is that of all stages together."""
        return self.stage == TOTAL

    def beyond(self, delay_ns: float) -> float:
        """The share of packets that took longer."""
        return 1 - max((share for value, share in self.curve if value <= delay_ns), default=0.0)


def published_stages(scenario: StoredScenario, stages: Sequence[StageDelay]) -> list[PublishedStage]:
    """What the scenario's source says of stages, where any was measured."""
    if not stages:
        return []
    rows = ({**row} for row in printed_rows(scenario, "stages.csv"))
    return [PublishedStage(finding=row.pop("says"), **row) for row in rows]


def read_traced(result: Result, platforms: tuple[str, ...]) -> list[TracedCell]:
    """Every cell that has a traced trial, usable or not, in the order setting, platform."""
    recorded = recorded_cells(result, TracedLevels, of="traced")
    told = {row.cell: row for row in result.read(_TRIALS, _Followed)} if recorded else {}
    added = added_by_tracing(result, _twins(result, recorded))
    cells = []
    for row in recorded:
        counted = told.get(row.key) or _Followed(row.key, None, None, None, None)
        cells.append(
            TracedCell(
                key=row.key,
                platform=row.platform,
                setting=row.setting,
                recorded=row.recorded,
                invalid=row.invalid,
                suspect=row.suspect,
                packets=counted.packets or 0,
                strayed=counted.strayed or 0,
                lost=counted.lost or 0,
                hook_ns=counted.hook_ns,
                added_ns=added.get(row.key),
            )
        )
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(cells, key=lambda cell: (cell.setting, rank[cell.platform]))


def stage_delays(result: Result, cells: Sequence[TracedCell]) -> list[StageDelay]:
    """A row a stage, in the order of `cells`, then of hosts, directions and the way."""
    found: dict[str, list[StageDelay]] = {cell.key: [] for cell in cells}
    for cell, place, blocks in stage_blocks(result, cells):
        found[cell.key].append(_delay(cell, place, blocks))
    return [row for rows in found.values() for row in _in_order(rows)]


def stage_blocks(
    result: Result, cells: Sequence[TracedCell]
) -> list[tuple[TracedCell, Place, list[StageBlock]]]:
    """The rows of a stage of a cell, one a block."""
    by_key = {cell.key: cell for cell in cells}
    found: dict[tuple[str, Place], list[StageBlock]] = {}
    for row in result.read(_STAGES, StageBlock) if cells else ():
        if row.cell in by_key:
            place = (row.host, row.direction, row.stage)
            found.setdefault((row.cell, place), []).append(row)
    return [(by_key[key], place, blocks) for (key, place), blocks in found.items()]


def _twins(result: Result, traced: Sequence[Recorded]) -> dict[str, tuple[Recorded, Recorded]]:
    if not traced:
        return {}
    alike = {(row.platform, row.setting): row for row in recorded_cells(result, TracedLevels)}
    found = {row.key: (row, alike.get((row.platform, row.setting))) for row in traced}
    return {key: (row, twin) for key, (row, twin) in found.items() if twin is not None}


def _delay(cell: TracedCell, place: Place, blocks: Sequence[StageBlock]) -> StageDelay:
    host, direction, stage = place
    repetitions = [merged(block.histograms) for block in blocks]
    timed = [each for each in repetitions if each.samples]
    quantiles = {name: quantile_interval(timed, q) if timed else None for name, q in QUANTILES.items()}
    return StageDelay(
        key=cell.key,
        platform=cell.platform,
        setting=cell.setting,
        host=host,
        direction=direction,
        stage=stage,
        position=blocks[0].position,
        packets=sum(block.packets for block in blocks),
        mean_ns=repeated_estimate(
            [block.mean_ns for block in blocks], cell.left_out, COUNTED, total_interval
        ),
        curve=_curve(merge(timed)),
        **{name: estimate(found, cell.left_out) if found else None for name, found in quantiles.items()},
    )


def merged(histograms: Iterable[str | None]) -> Distribution:
    """The histograms of one stage in a block, over its guests and attempts."""
    return merge([decode(histogram) for histogram in histograms if histogram is not None])


def _curve(distribution: Distribution) -> tuple[tuple[float, float], ...]:
    """At most so many points of the cumulative distribution, evenly spread over its steps, both ends among them."""
    steps = len(distribution.values)
    if not steps:
        return ()
    shares = distribution.counts.cumsum() / distribution.samples
    chosen = np.unique(np.linspace(0, steps - 1, min(steps, CURVE_POINTS)).round().astype(int))
    return tuple((float(distribution.values[at]), float(shares[at])) for at in chosen)


def _in_order(rows: Iterable[StageDelay]) -> list[StageDelay]:
    """Hosts in their names' order, what no host has last; a way's stages before their total.

    A way through a host has stages of all directions, in one row; else each direction is a way of its own.
    """
    rows = list(rows)
    crossed = {row.host for row in rows if row.is_whole and row.direction == "through"}

    def order(row: StageDelay) -> tuple[bool, str, int, bool, int]:
        direction = 0 if row.host in crossed else DIRECTIONS.index(row.direction)
        return row.host is None, row.host or "", direction, row.position is None, row.position or 0

    return sorted(rows, key=order)
