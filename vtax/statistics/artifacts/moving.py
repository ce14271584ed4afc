"""Slow iterations that move from run to run by the same step: the diagonals of matthews2009, Figure 2."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from vtax.statistics.artifacts.coincidences import Coincidences, Recurrence, recurring, slow_iterations
from vtax.statistics.artifacts.finding import Finding, NotEnough, duration_text
from vtax.statistics.artifacts.periodic import size
from vtax.statistics.artifacts.series import Series

RUNS: Final = 5
ITERATIONS: Final = 20


@dataclass(frozen=True)
class Moving(Finding):
    """Slow iterations come `slope_iterations` later in each next run (earlier, if negative): runs are remembered.

    `period_iterations` lies between those of one run, None where a run has no second one; with a period, slopes that
    differ by it are the same, and the one nearest to 0 is told. `pairs` of neighbouring runs' slow iterations are that
    far apart, where `expected_pairs` come by chance. `size_ns`, `size_ratio` and `samples` are as of Periodic.
    """

    slope_iterations: int
    period_iterations: float | None
    pairs: int
    expected_pairs: float
    size_ns: float
    size_ratio: float
    samples: int

    @property
    def sentence(self) -> str:
        """Slope, period and size."""
        way = "later" if self.slope_iterations > 0 else "earlier"
        period = f", every {self.period_iterations:.5g} iterations" if self.period_iterations else ""
        return (
            f"Slow iterations{period} move {abs(self.slope_iterations):,} iterations {way} from run to run, a memory "
            f"between runs: by {duration_text(self.size_ns)}, {self.size_ratio:.2f} times the others' median "
            f"({self.pairs:,} pairs where {self.expected_pairs:.1f} come by chance, p = {self.p_value:.1g})."
        )


def look_for_moves(series: Series) -> Moving | NotEnough:
    """Return the step at which slow iterations of neighbouring runs most often follow each other.

    What any two runs share, as lines or slow beginnings, is no memory: pairs of runs that are no neighbours tell it.
    """
    if series.runs < RUNS or series.iterations < ITERATIONS:
        return NotEnough("a memory between runs", f"{RUNS} runs of {ITERATIONS} iterations")
    iterations = series.iterations
    reach = iterations - iterations // 8
    lags = np.concatenate([np.arange(1, reach), np.arange(-reach + 1, 0)])
    found = recurring([Coincidences.of_neighbours(slow) for slow in slow_iterations(series)], lags)
    return _moving(series, found)


def _moving(series: Series, found: Recurrence) -> Moving:
    slope, slow, reach = found.standing[0], found.slow, found.width // 2
    on = np.zeros_like(slow)
    for step in range(slope - reach, slope + reach + 1):
        earlier, later = _overlap(step, slow.shape[1])
        both = slow[:-1, earlier] & slow[1:, later]
        on[:-1, earlier] |= both
        on[1:, later] |= both
    return Moving(found.p_value, slope, _period(found), found.pairs, found.expected, *size(series.ns, on))


def _overlap(step: int, iterations: int) -> "tuple[slice[int, int], slice[int, int]]":
    """Where a run and the next one lie over each other, when the next is moved back by `step`."""
    if step >= 0:
        return slice(0, iterations - step), slice(step, iterations)
    return slice(-step, iterations), slice(0, iterations + step)


def _period(found: Recurrence) -> float | None:
    """The least distance between steps that stand out alike."""
    steps = np.sort(found.standing)
    apart = np.diff(steps)
    apart = apart[apart > 2 * found.width]
    return float(np.median(apart[apart < 1.5 * apart.min()])) if apart.size else None
