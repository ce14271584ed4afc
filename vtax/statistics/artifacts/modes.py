"""Durations of several kinds, as of a fast and a slow way: modes of their distribution (matthews2009, Figure 3)."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import diptest
import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.artifacts.finding import Finding, NotEnough, duration_text
from vtax.statistics.artifacts.series import Samples, Series

SAMPLES: Final = 100
UNITS: Final = 20
LARGEST: Final = 72_000
"""Of more samples the dip's distribution is not tabulated."""
GRID: Final = 1024
RISE: Final = 4.0
LEAST_SHARE: Final = 0.005


@dataclass(frozen=True)
class Modes(Finding):
    """Durations gather about several values: `modes_ns`, ascending, with the `shares` of samples about each.

    `dip` is Hartigan's: how far the distribution is from any with one mode, as a share of the samples.
    """

    dip: float
    modes_ns: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def sentence(self) -> str:
        """Where the modes are, and how much is about each."""
        each = ", ".join(
            f"{duration_text(mode)} ({share:.1%})"
            for mode, share in zip(self.modes_ns, self.shares, strict=True)
        )
        return (
            f"Durations gather about {len(self.modes_ns)} values: {each} "
            f"(dip {self.dip:.3f}, p = {self.p_value:.1g})."
        )


def look_for_modes(series: Series) -> Modes | NotEnough:
    """Hold the distribution against all that have one mode (Hartigan and Hartigan, Annals of Statistics 13, 1985).

    The test is of independent samples. Where those of a run, or of a stretch of one, are alike, there are as many as
    would vary as much from unit to unit: the dip is that of so many quantiles of all samples. Samples that a coarse
    clock made equal are spread evenly over its tick.
    """
    units = series.units(UNITS, 5)
    if units is None or len(series.values) < SAMPLES:
        return NotEnough("modes", f"{SAMPLES} samples")
    values = _spread(series.values)
    independent = int(min(LARGEST, len(values) / _alikeness(units)))
    if independent < SAMPLES:
        return NotEnough(
            "modes", f"{SAMPLES} samples that are independent of each other; these are like {independent}"
        )
    chosen = values[((np.arange(independent) + 0.5) / independent * len(values)).astype(int)]
    if np.ptp(chosen) == 0:
        return Modes(1.0, 0.0, (float(chosen[0]),), (1.0,))
    dip, p_value = diptest.diptest(chosen, sort_x=False)
    return Modes(float(p_value), float(dip), *_modes(values, independent))


def _spread(values: Samples) -> Samples:
    """Ascending values, equal ones spread over the distance to the next."""
    distinct, begin, count = np.unique(values, return_index=True, return_counts=True)
    if len(distinct) < 2 or len(distinct) > len(values) / 2:
        return values
    tick = float(np.median(np.diff(distinct[: 2 + np.searchsorted(distinct, np.quantile(values, 0.9))])))
    within = (np.arange(len(values)) - np.repeat(begin, count) + 0.5) / np.repeat(count, count) - 0.5
    return np.sort(values + tick * within)


def _alikeness(units: Samples) -> float:
    """How many samples tell as much as one that is independent: the largest design effect over the deciles."""
    counts = (~np.isnan(units)).sum(axis=1)
    effects = [1.0]
    for decile in np.nanquantile(units, np.arange(1, 10) / 10):
        below = np.sort((units < decile).sum(axis=1) / counts)  # sorted: no order of units rounds otherwise
        share = below.mean()
        if 0 < share < 1:
            effects.append(float(counts.mean() * below.var(ddof=1) / (share * (1 - share))))
    return max(effects)


def _modes(values: Samples, independent: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Peaks of the density, smoothed as little as shows more than one, and the share of samples about each."""
    low, high = np.quantile(values, [0.001, 0.999])
    if high <= low:
        return (float(low),), (1.0,)
    edges = np.linspace(low, high, GRID + 1)
    counts = np.histogram(values, edges)[0] * (independent / len(values))
    spread = min(float(values.std()), float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.34)
    bandwidth = 0.9 * max(spread, (high - low) / GRID) * independent**-0.2
    for narrower in (1.0, 0.5, 0.25):
        peaks, bounds = _peaks(counts, max(0.5, narrower * bandwidth / (edges[1] - edges[0])))
        if len(peaks) > 1:
            break
    shares = np.add.reduceat(counts, bounds) / counts.sum()
    middles = (edges[:-1] + edges[1:]) / 2
    return tuple(middles[peaks].tolist()), tuple(shares.tolist())


def _peaks(counts: NDArray[np.float64], bandwidth_bins: float) -> tuple[NDArray[np.intp], list[int]]:
    """Peaks of the smoothed counts, and where what is about each begins.

    A peak rises above the valleys beside it by so many standard deviations of its own height, and has samples enough.
    """
    density = scipy.ndimage.gaussian_filter1d(counts, bandwidth_bins, mode="constant")
    padded = np.concatenate([[0.0], density, [0.0]])
    peaks, found = scipy.signal.find_peaks(padded, prominence=0)
    deviations = np.sqrt(padded[peaks] / (2 * np.sqrt(np.pi) * bandwidth_bins))
    peaks = peaks[found["prominences"] >= RISE * deviations] - 1
    while True:
        bounds = [
            0,
            *(int(left + np.argmin(density[left:right])) for left, right in pairwise(peaks)),
        ]
        shares = np.add.reduceat(counts, bounds) / counts.sum()
        if len(peaks) < 2 or shares.min() >= LEAST_SHARE:
            return peaks, bounds
        peaks = np.delete(peaks, int(shares.argmin()))
