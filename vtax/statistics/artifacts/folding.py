"""Folds of a run at many periods, to find iterations that are slow in every run and one period apart."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.artifacts.series import Series
from vtax.statistics.artifacts.spectrum import candidates, savage, whitened

REPEATS: Final = 5
"""A period is looked for that comes so often in a run."""
SHORT: Final = 64.0
"""Up to this period the spectrum says where to look; beyond, every period is folded."""
LONGEST: Final = 5_000.0
STEPS: Final = 16
STEPS_A_BIN: Final = 64
"""Steps about a candidate, of that part of the spectrum's resolution: none moves a fold by more than an iteration."""
NEAR: Final = 2.0
"""Iterations that a line may lie off where the fold that stands out most has it."""
ROWS: Final = 512
"""Periods that are folded at a time."""


@dataclass(frozen=True)
class Lines:
    """Columns `period` iterations apart, `slots` of them in a run, of which `hits` are among the slowest.

    They lie within `width` iterations from `first` on, and so in each period. Other periods close by have the same
    hits; `spacing` is that of the straight line through the slowest near each.
    """

    period: float
    first: int
    width: int
    hits: int
    slots: int
    p_value: float
    spacing: float

    def columns(self, iterations: int) -> NDArray[np.bool_]:
        """Which iterations of a run lie on the lines, of shape (iterations,)."""
        phase = np.floor(np.arange(iterations) % self.period)
        return np.asarray((phase - self.first) % np.ceil(self.period) < self.width)


def find_lines(series: Series) -> Lines:
    """Return the lines that stand out most, their p-value corrected for every period, place and width tried.

    The slowness of an iteration over all runs, with a flat spectrum, is folded at each period. Among the slowest
    columns, about two for each that one line a period would have, those at one place of the period are counted.
    Where no iteration differs from others, they are there by chance: binomially.
    """
    iterations = series.iterations
    scores = savage(whitened(series.slowness.mean(axis=0)))
    longest = min(iterations / REPEATS, LONGEST)
    slowest = np.argsort(-scores, kind="stable")
    tried = 2 * iterations * longest
    best = Lines(longest, 0, 1, 0, REPEATS, 1.0, longest)
    for periods in _grids(scores, longest):
        share = min(2 / float(periods[0]), 0.25)
        chosen = slowest[: max(1, round(share * iterations))]
        for rows in np.array_split(periods, -(-len(periods) // ROWS)):
            lines = _folded(chosen, rows, iterations, tried)
            if lines.p_value < best.p_value:
                best = replace(lines, spacing=_spacing(chosen, lines, iterations))
    return best


def _grids(scores: NDArray[np.float64], longest: float) -> list[NDArray[np.float64]]:
    """Periods to fold at, in groups that share how many columns count as slow."""
    iterations = len(scores)
    grids = []
    for period in candidates(scores, min(longest, SHORT)):
        step = 1 / (STEPS_A_BIN * iterations)
        frequencies = 1 / period + step * np.arange(-STEPS, STEPS + 1)
        near = np.unique(np.append(1 / frequencies, np.round(period)))
        grids.append(near[(near >= 2) & (near <= longest)])
    begin = SHORT
    while begin < longest:
        end = min(2 * begin, longest)
        grids.append(np.exp(np.arange(np.log(begin), np.log(end) + 1 / iterations, 1 / iterations)))
        begin = end
    return [grid for grid in grids if grid.size]


def _folded(chosen: NDArray[np.intp], periods: NDArray[np.float64], iterations: int, tried: float) -> Lines:
    """The most significant of these periods' places."""
    places = int(np.ceil(periods[-1]))
    phase = (chosen % periods[:, None]).astype(np.int64)
    cells = phase + places * np.arange(len(periods))[:, None]
    hits = np.bincount(cells.ravel(), minlength=places * len(periods)).reshape(len(periods), places)
    slots = np.floor(iterations / periods).astype(int) + 1
    share = len(chosen) / iterations
    period = float(periods[0])
    best = Lines(period, 0, 1, 0, int(slots[0]), 1.0, period)
    for width in (1, 2):
        together = hits if width == 1 else hits + np.roll(hits, -1, axis=1)
        most = together.max(axis=1)
        chances = scipy.special.bdtrc(most - 1.0, width * slots, share)
        at = int(np.argmin(chances))
        p_value = min(1.0, float(chances[at]) * tried)
        if p_value < best.p_value:
            first, period = int(together[at].argmax()), float(periods[at])
            best = Lines(period, first, width, int(most[at]), int(slots[at]), p_value, period)
    return best


def _spacing(chosen: NDArray[np.intp], lines: Lines, iterations: int) -> float:
    """How far a line lies from the next, by least squares through the slowest near each; `chosen` are slowest first."""
    on = chosen[lines.columns(iterations)[chosen]]
    if not len(on):
        return lines.period
    turns = np.round((chosen - on[0]) / lines.period)
    near = np.abs(chosen - on[0] - turns * lines.period) <= min(NEAR, lines.period / 4)
    distinct, slowest = np.unique(turns[near], return_index=True)
    return float(np.polyfit(distinct, chosen[near][slowest], 1)[0]) if len(distinct) > 1 else lines.period
