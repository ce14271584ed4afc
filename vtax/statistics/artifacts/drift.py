"""Durations that grow or shrink steadily: along the iterations of runs, or from run to run."""

import warnings
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import scipy

from vtax.statistics.artifacts.finding import Finding, NotEnough, duration_text
from vtax.statistics.artifacts.series import Samples, Series

RUNS: Final = 8
BLOCKS: Final = 16
LEAST: Final = 10
"""Iterations of a block."""


@dataclass(frozen=True)
class Drift(Finding):
    """Durations change by `change_ns` steadily from the beginning to the end, `along` a run's iterations or the runs.

    The change is that of a straight line through the medians (Theil and Sen).
    """

    along: Literal["iterations", "runs"]
    change_ns: float
    runs: int

    @property
    def sentence(self) -> str:
        """Which way, and how much."""
        way = "grow" if self.change_ns >= 0 else "shrink"
        where = (
            "along a run" if self.along == "iterations" else f"from the first to the last of {self.runs} runs"
        )
        return f"Durations {way} steadily {where}, by {duration_text(abs(self.change_ns))} (p = {self.p_value:.1g})."


def look_for_drift_in_runs(series: Series) -> Drift | NotEnough:
    """Return how durations change along a run, after its first sixteenth, where it may warm up.

    Of each run the slope of its ranks over 15 blocks. From eight runs on their slopes are held against 0 by Student's
    t, however a run's iterations hang together; with fewer it is the blocks' mean ranks that are held
    against a line.
    """
    length = series.iterations // BLOCKS
    if not series.runs or length < LEAST:
        return NotEnough("a drift along runs", f"{BLOCKS * LEAST} iterations a run")
    kept = slice(length, BLOCKS * length)
    means = series.ranks[:, kept].reshape(series.runs, BLOCKS - 1, length).mean(axis=2)
    x = np.arange(BLOCKS - 1) - (BLOCKS - 2) / 2
    if series.runs >= RUNS:
        slopes = means @ x
        p_value = 1.0 if np.ptp(slopes) == 0 else float(scipy.stats.ttest_1samp(slopes, 0).pvalue)
    else:
        column = means.mean(axis=0)
        p_value = 1.0 if np.ptp(column) == 0 else float(scipy.stats.linregress(x, column).pvalue)
    blocks = series.ns[:, kept].reshape(series.runs, BLOCKS - 1, length).transpose(1, 0, 2)
    return Drift(p_value, "iterations", _change(blocks.reshape(BLOCKS - 1, -1)), series.runs)


def look_for_drift_over_runs(series: Series) -> Drift | NotEnough:
    """Return how durations change from run to run: Kendall's rank correlation of the runs' places with their order.

    A run's place is the mean rank of its samples among all runs'.
    """
    if series.runs < RUNS:
        return NotEnough("a drift from run to run", f"{RUNS} runs")
    places = np.nanmean(series.places, axis=1)
    if np.ptp(places) == 0:
        return Drift(1.0, "runs", 0.0, series.runs)
    p_value = float(scipy.stats.kendalltau(np.arange(series.runs), places).pvalue)
    return Drift(p_value, "runs", _change(series.ns), series.runs)


def _change(rows: Samples) -> float:
    """From the first row's median to the last one's, along the line through all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a block whose iterations all failed has no median
        medians = np.nanmedian(rows, axis=1)
    known = np.flatnonzero(~np.isnan(medians))
    if len(known) < 2:
        return 0.0
    return float(scipy.stats.theilslopes(medians[known], known).slope) * (len(medians) - 1)
