"""One-way delay: quantiles of a cell's probes, merged over streams and compared over repetitions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import isnan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from vtax.model.cell import Cell
from vtax.model.estimate import Estimate, estimate
from vtax.model.frames import is_generator_limited
from vtax.model.late import late
from vtax.model.levels import Setting
from vtax.model.reading import USABLE
from vtax.results import Result
from vtax.statistics import (
    Distributions,
    Interval,
    decode_all,
    quantile_interval,
    samples_needed,
    with_systematic_error,
)

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

# Probes are sent on schedule and each is timed by itself, so there is no coordinated omission to correct for.
_TRIALS = f"""
    WITH {USABLE} SELECT trial_id, block FROM usable ORDER BY cell, uut_context, block, trial_id
"""  # noqa: S608, made of constants
_CELLS = f"""
    WITH {USABLE}
    SELECT cell, uut_context, count(*) AS trials FROM usable GROUP BY ALL ORDER BY cell, uut_context
"""  # noqa: S608, made of constants


@dataclass(frozen=True)
class Delay:
    """A cell's one-way delays (ns), merged over the streams.

    `p50_by_block_ns` are the blocks' medians, without blocks with too few probes for one; none at all where a block
    lost half of its probes: without it the rest would look too fast. `quantiles_ns` are those of a typical block, by
    label, None where there is none. `late` counts the blocks that a label leaves out, since the source was as late as
    frames took. `samples` and `lost` count the probes of all blocks that arrived and that did not.
    By `clock_error_ns` all may be wrong alike, where source and sink have clocks of their own: intervals allow for it.
    """

    cell: Cell
    p50_by_block_ns: dict[int, float]
    quantiles_ns: dict[str, Interval | None]
    samples: int
    lost: int
    late: dict[str, int] = field(default_factory=dict)
    clock_error_ns: float = 0.0


@dataclass(frozen=True)
class DelayPercentile:
    """A quantile of one-way delay at one load; `label` is p50, p90 or p99.

    `delay_ns` is the quantile of a typical repetition; where some repetition has none, that of all probes
    merged, without an interval. `samples` and `lost` count the probes of all repetitions that arrived and that
    did not. The quantile is taken over both, and `delay_ns` is None where it lies among the lost. `late` counts the
    repetitions that are left out, since their source was as late as frames took: `delay_ns` is None where all are. Its
    interval allows for `clock_error_ns`.
    """

    key: str
    platform: str
    setting: Setting
    intended_mbps: float | None
    uut_context: str
    label: str
    quantile: float
    delay_ns: Estimate | None
    samples: int
    lost: int
    generator_limited: bool
    late: int = 0
    clock_error_ns: float = 0.0


_LATE = f"""
    WITH {USABLE}
    SELECT cell, uut_context, block, {", ".join(f"bool_or({late(label)}) AS {label}" for label in QUANTILES)}
    FROM usable JOIN flows USING (trial_id) WHERE role = 'victim' GROUP BY ALL HAVING p50 OR p90 OR p99
"""  # noqa: S608, made of constants
_CLOCK_ERRORS = f"""
    WITH {USABLE}
    SELECT cell, uut_context, max(clock_error_ns) AS error_ns
    FROM usable JOIN flows USING (trial_id) WHERE clock_error_ns > 0 GROUP BY ALL
"""  # noqa: S608, made of constants


class _Trials(Struct, frozen=True):
    """How many usable trials a cell has."""

    cell: str
    uut_context: str
    trials: int


class _ClockError(Struct, frozen=True):
    """What a cell's delays may be wrong by."""

    cell: str
    uut_context: str
    error_ns: float


class _Late(Struct, frozen=True):
    """Of which quantiles a block's source was too late."""

    cell: str
    uut_context: str
    block: int
    p50: bool
    p90: bool
    p99: bool


def read_delays(result: Result, cells: Sequence[Cell]) -> list[Delay]:
    """The delays of each cell that has any, in the order of `cells`."""
    if not cells or not result.tables["latency"].num_rows:
        return []
    trials = result.columns(_TRIALS)
    spans, begin = {}, 0
    for row in result.read(_CELLS, _Trials):
        spans[row.cell, row.uut_context] = begin, begin + row.trials
        begin += row.trials
    errors = {
        (each.cell, each.uut_context): each.error_ns for each in result.read(_CLOCK_ERRORS, _ClockError)
    }
    lates: dict[tuple[str, str], list[_Late]] = {}
    for block in result.read(_LATE, _Late):
        lates.setdefault((block.cell, block.uut_context), []).append(block)
    histograms = _Histograms(result)
    number, block = trials["trial_id"].to_numpy(), trials["block"].to_numpy()

    def read(cell: Cell) -> Delay | None:
        begin, end = spans.get((cell.key, cell.uut_context), (0, 0))
        blocks, each = histograms.of(number[begin:end], block[begin:end])
        error_ns = errors.get((cell.key, cell.uut_context), 0.0)
        of_cell = lates.get((cell.key, cell.uut_context), ())
        too_late = {label: {row.block for row in of_cell if getattr(row, label)} for label in QUANTILES}
        return _delay(cell, blocks, each, too_late, error_ns) if blocks.size else None

    with ThreadPoolExecutor(os.cpu_count()) as readers:
        return [delay for delay in readers.map(read, cells) if delay]


class _Histograms:
    """The one-way histograms of a result, to be read a cell at a time: all of them would not fit into memory."""

    def __init__(self, result: Result) -> None:
        rows = result.tables["latency"]
        one_way = pc.and_(pc.equal(rows["kind"], "one-way"), pc.is_valid(rows["histogram"]))
        corrected = pc.fill_null(rows["corrected"], False)
        wanted = np.flatnonzero(pc.and_(pc.fill_null(one_way, False), pc.invert(corrected)).to_numpy())
        # Of more than 2 GB of text an array that is not large has no room.
        self._texts = rows["histogram"].cast(pa.large_string()).combine_chunks()
        self._lost = pc.fill_null(rows["lost"], 0).to_numpy()
        trials = rows["trial_id"].to_numpy()[wanted]
        order = trials.argsort(kind="stable")
        self._order, self._trials = wanted[order], trials[order]

    def of(
        self, trials: NDArray[np.int64], blocks: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], Distributions]:
        """Those of trials in the order of their blocks, one a block; which blocks have any, and their own."""
        first, last = (np.searchsorted(self._trials, trials, side) for side in ("left", "right"))
        each_has = last - first
        within = np.arange(each_has.sum()) - np.repeat(each_has.cumsum() - each_has, each_has)
        rows = self._order[np.repeat(first, each_has) + within]
        present, groups = np.unique(np.repeat(blocks, each_has), return_inverse=True)
        if not rows.size:
            return present, Distributions.of([])
        each = decode_all(self._texts.take(pa.array(rows)), self._lost[rows])
        return present, each.together(groups)


def _delay(
    cell: Cell,
    blocks: NDArray[np.int32],
    each: Distributions,
    late: Mapping[str, Collection[int]],
    clock_error_ns: float,
) -> Delay:
    """Merge the delays of a cell's blocks; `late` has by label the blocks whose quantile is the source's."""
    in_time = {label: each.where(~np.isin(blocks, list(late[label]))) for label in QUANTILES}

    def typical(label: str) -> Interval | None:
        interval = quantile_interval(in_time[label], QUANTILES[label], repeated=cell.repeated())
        return interval and with_systematic_error(interval, clock_error_ns)

    medians = {
        block: median
        for block, median in zip(blocks.tolist(), each.quantiles(0.5).tolist(), strict=True)
        if not isnan(median) and block not in late["p50"]
    }
    return Delay(
        cell=cell,
        p50_by_block_ns={} if in_time["p50"].lie_in_the_lost(0.5).any() else medians,
        quantiles_ns={label: typical(label) for label in QUANTILES},
        samples=int(each.samples.sum()),
        lost=int(each.lost.sum()),
        late={label: int(np.isin(blocks, list(late[label])).sum()) for label in QUANTILES},
        clock_error_ns=clock_error_ns,
    )


def delay_percentiles(delays: Iterable[Delay]) -> list[DelayPercentile]:
    """Every quantile that enough probes were sent for (10 / (1 - q))."""
    rows = []
    for delay in delays:
        cell = delay.cell
        for label, quantile in QUANTILES.items():
            if delay.samples + delay.lost < samples_needed(quantile):
                continue
            interval = delay.quantiles_ns[label]
            rows.append(
                DelayPercentile(
                    key=cell.key,
                    platform=cell.platform,
                    setting=cell.setting,
                    intended_mbps=cell.level,
                    uut_context=cell.uut_context,
                    label=label,
                    quantile=quantile,
                    delay_ns=estimate(interval, cell.left_out) if interval else None,
                    samples=delay.samples,
                    lost=delay.lost,
                    generator_limited=is_generator_limited(cell),
                    late=delay.late.get(label, 0),
                    clock_error_ns=delay.clock_error_ns,
                )
            )
    return rows
