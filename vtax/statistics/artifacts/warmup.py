"""Iterations at the beginning of runs that are slower, or faster, than the rest."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.artifacts.finding import Finding, NotEnough, duration_text
from vtax.statistics.artifacts.series import Series

BLOCKS: Final = 16
ITERATIONS: Final = 32


@dataclass(frozen=True)
class WarmUp(Finding):
    """The first `iterations` of runs differ from the rest by `size_ns`, of the medians; positive where they are slower.

    The length is that power of two at which they stand out most.
    """

    iterations: int
    size_ns: float
    runs: int

    @property
    def sentence(self) -> str:
        """How long and how much."""
        which = f"first {self.iterations:,} iterations" if self.iterations > 1 else "first iteration"
        return (
            f"The {which} of a run {'are' if self.iterations > 1 else 'is'} "
            f"{duration_text(abs(self.size_ns))} {'slower' if self.size_ns >= 0 else 'faster'} than the rest, "
            f"in the median of {self.runs} runs (p = {self.p_value:.1g})."
        )


def look_for_warm_up(series: Series) -> WarmUp | NotEnough:
    """Return the beginning that stands out most, of 1, 2, 4 ... iterations up to a sixteenth of a run.

    Runs are cut into blocks of that length. The ranks of the first one are held against the straight line through
    those of all others, by Student's t with the deviation of these from the line: a drift is no warm-up, and noise
    that remembers less than a block makes the blocks vary as it makes the first one.
    """
    if not series.runs or series.iterations < ITERATIONS:
        return NotEnough("a warm-up", f"{ITERATIONS} iterations a run")
    columns = series.ranks.mean(axis=0)
    lengths = [
        2**power for power in range(series.iterations.bit_length()) if 2**power <= series.iterations / BLOCKS
    ]
    chances = [_chance(columns, length) for length in lengths]
    at = int(np.argmin(chances))
    begin, rest = series.ns[:, : lengths[at]], series.ns[:, lengths[at] :]
    if np.isnan(begin).all() or np.isnan(rest).all():
        return NotEnough("a warm-up", "a first iteration that did not fail")
    size_ns = float(np.nanmedian(begin) - np.nanmedian(rest))
    return WarmUp(min(1.0, chances[at] * len(lengths)), lengths[at], size_ns, series.runs)


def _chance(columns: NDArray[np.float64], length: int) -> float:
    """How likely a first block lies so far off the line through the others."""
    blocks = len(columns) // length
    means = columns[: blocks * length].reshape(blocks, length).mean(axis=1)
    others = means[1:]
    x = np.arange(1, blocks) - blocks / 2
    slope = float(x @ (others - others.mean()) / (x @ x))
    residuals = others - others.mean() - slope * x
    freedom = blocks - 3
    variance = float(residuals @ residuals) / freedom
    expected = others.mean() - slope * blocks / 2
    error = np.sqrt(variance * (1 + 1 / len(x) + (blocks / 2) ** 2 / float(x @ x)))
    difference = abs(float(means[0]) - expected)
    if error <= 1e-12:
        return 1.0 if difference <= 1e-12 else 0.0
    return float(2 * scipy.special.stdtr(freedom, -difference / error))
