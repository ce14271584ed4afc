"""Slow iterations at regular intervals: horizontal lines (matthews2009, section 3), or periods that begin anywhere."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.artifacts.coincidences import Coincidences, recurring, slow_iterations
from vtax.statistics.artifacts.finding import Finding, NotEnough, duration_text
from vtax.statistics.artifacts.folding import REPEATS, find_lines
from vtax.statistics.artifacts.series import Samples, Series

ITERATIONS: Final = 50
"""A run is at least so long that periods are looked for in it."""
LEAST_RANK: Final = 0.6
"""Of the median iteration on a line within its run: a sixth of them are slower than all others, or all a little."""
RUNS: Final = 3
"""So many, that what recurs within runs can be held against what recurs between them."""


@dataclass(frozen=True)
class Periodic(Finding):
    """Every `period_iterations` an iteration is slow.

    `first_iteration` is the first of them where they are the same in every run, lines across the runs; None where a
    run's begin anywhere. `size_ns` is the median of these iterations less that of the others, `size_ratio` their ratio;
    `samples` counts them.
    """

    period_iterations: float
    first_iteration: int | None
    size_ns: float
    size_ratio: float
    samples: int

    @property
    def sentence(self) -> str:
        """Period, place and size."""
        where = (
            "beginning anywhere in each run"
            if self.first_iteration is None
            else f"the same in every run, from iteration {self.first_iteration} on"
        )
        return (
            f"Every {self.period_iterations:.5g} iterations one is slow, {where}: "
            f"by {duration_text(self.size_ns)}, {self.size_ratio:.2f} times the others' median "
            f"({self.samples:,} samples, p = {self.p_value:.1g})."
        )


def look_for_lines(series: Series) -> Periodic | NotEnough:
    """Return the period whose iterations stand out most at the same place of every run: horizontal lines.

    Runs must agree on it, by Student's t of their slowness there, corrected for the period's places: what recurs in
    each run by itself would otherwise make a line wherever more of them meet. And what lies there must be slow for
    the most part: diagonals hit the same few places of every run, one of many at a time.
    """
    if not series.runs or series.iterations < ITERATIONS:
        return NotEnough("lines through all runs", f"{ITERATIONS} iterations a run")
    lines = find_lines(series)
    columns = lines.columns(series.iterations)
    on = np.broadcast_to(columns, series.ns.shape)
    agreed = lines.period * _agreement(series.slowness, columns)
    slow = np.median(series.ranks[:, columns]) >= LEAST_RANK
    return Periodic(
        float(np.clip(agreed, lines.p_value, 1)) if slow else 1.0,
        lines.spacing,
        int(np.argmax(columns)),
        *size(series.ns, on),
    )


def _agreement(slowness: Samples, columns: NDArray[np.bool_]) -> float:
    """How likely runs that do not agree on these columns are so slow there; 0 of a single run."""
    if len(slowness) < 2:
        return 0.0
    excess = slowness[:, columns].mean(axis=1) - 1
    error = float(excess.std(ddof=1)) / len(excess) ** 0.5
    if error <= 1e-12:
        return 0.0 if excess[0] > 0 else 1.0
    return float(scipy.special.stdtr(len(excess) - 1, -excess.mean() / error))


def look_for_periods(series: Series) -> Periodic | NotEnough:
    """Return the period at which slow iterations most often recur within runs, wherever they begin in each.

    What recurs alike between different runs is no period of its own: lines are left to `look_for_lines`.
    """
    if series.runs < RUNS or series.iterations < ITERATIONS:
        return NotEnough("periods of each run's own", f"{RUNS} runs of {ITERATIONS} iterations")
    lags = np.arange(2, series.iterations // REPEATS + 1)
    found = recurring([Coincidences.within_runs(slow) for slow in slow_iterations(series)], lags)
    lag, reach, slow = found.standing[0], found.width // 2, found.slow
    on = np.zeros_like(slow)
    for apart in range(lag - reach, lag + reach + 1):
        both = slow[:, :-apart] & slow[:, apart:]
        on[:, :-apart] |= both
        on[:, apart:] |= both
    return Periodic(found.p_value, float(lag), None, *size(series.ns, on))


def size(ns: Samples, on: NDArray[np.bool_]) -> tuple[float, float, int]:
    """Return by how many ns and how many times the median of the samples `on` exceeds the others', and their number."""
    known = ~np.isnan(ns)
    these, others = ns[on & known], ns[~on & known]
    if not these.size or not others.size:
        return 0.0, 1.0, int(these.size)
    slow, usual = float(np.median(these)), float(np.median(others))
    return slow - usual, slow / usual if usual else float("inf"), int(these.size)
