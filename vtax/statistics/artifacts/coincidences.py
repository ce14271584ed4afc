"""How often slow iterations lie a certain number of iterations apart: within runs, and from run to run."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.artifacts.series import Series

Counts = NDArray[np.float64]
Slow = NDArray[np.bool_]

SLOWEST: Final = (1, 4, 16, 64, 256)
"""So many of a run count as slow, one after the other."""
WIDTHS: Final = (1, 3, 9)
"""Lags that count together, for what does not recur to the iteration."""
AROUND: Final = 201
LEAST_PAIRS: Final = 3
FORGOTTEN: Final = 0.1
"""Autocorrelation from which on neighbouring iterations count as independent."""


@dataclass(frozen=True, eq=False)
class Coincidences:
    """Pairs of slow iterations by lag, each of shape (2 x iterations,): lags from 0 on, negative ones from the end.

    `seen` are those looked at, out of as many as `slots`, and `elsewhere` as many as other pairs of runs lead one to
    expect of them. They come in bunches of `bunch`: what recurs within a run, or in the run beside it, recurs often.
    `slow` tells who counts as slow, of shape (runs, iterations).
    """

    slow: Slow
    seen: Counts
    elsewhere: Counts
    slots: Counts
    bunch: float

    @classmethod
    def within_runs(cls, slow: Slow) -> "Coincidences":
        """Of iterations of the same run; elsewhere is between any two runs."""
        runs = len(slow)
        spectra = scipy.fft.rfft(slow, 2 * slow.shape[1], axis=1)
        own = np.abs(spectra) ** 2
        between = np.abs(spectra.sum(axis=0)) ** 2 - own.sum(axis=0)
        return cls._of(slow, own, between / max(1, runs - 1))

    @classmethod
    def of_neighbours(cls, slow: Slow) -> "Coincidences":
        """Of each run and the next one; elsewhere is between runs that are no neighbours. There are three or more."""
        spectra = scipy.fft.rfft(slow, 2 * slow.shape[1], axis=1)
        beside = spectra[:-1].conj() * spectra[1:]
        either = 2 * beside.sum(axis=0).real + (np.abs(spectra) ** 2).sum(axis=0)
        between = np.abs(spectra.sum(axis=0)) ** 2 - either
        return cls._of(slow, beside, between / (len(slow) - 2))

    @classmethod
    def _of(cls, slow: Slow, spectra: NDArray[np.complex128], between: Counts) -> "Coincidences":
        length = 2 * slow.shape[1]
        each = np.round(scipy.fft.irfft(spectra, length, axis=1))
        elsewhere = scipy.fft.irfft(between, length)
        slots = len(each) * np.maximum(0, slow.shape[1] - np.abs(scipy.fft.fftfreq(length, 1 / length)))
        each[:, 0] = 0
        bunch = (each**2).sum() / max(1.0, each.sum()) - each.mean()
        return cls(slow, each.sum(axis=0), elsewhere, slots, max(1.0, float(bunch)))


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The lag at which most is coincident against what chance explains, its p-value corrected for all tried.

    `standing` are the lags that stand out about as much, of the same width and the same `slow`, nearest to 0 first.
    """

    lag: int
    width: int
    pairs: int
    expected: float
    p_value: float
    standing: tuple[int, ...]
    slow: Slow


def slow_iterations(series: Series) -> list[Slow]:
    """Return who is slow, by how many of a run count so: each of shape (runs, iterations).

    Where neighbours are alike, as noise that remembers makes them, the slowest of them stands for all.
    """
    ranks = series.ranks
    reach = _memory(ranks)
    peaks = ranks >= scipy.ndimage.maximum_filter1d(ranks, 2 * reach + 1, axis=1) if reach else True
    most = series.iterations / 16
    return [
        (ranks > 1 - slowest / series.iterations) & peaks
        for slowest in SLOWEST
        if slowest == 1 or slowest <= most
    ]


def recurring(counted: list[Coincidences], lags: NDArray[np.int64]) -> Recurrence:
    """Return the lag, of `lags`, at which most coincides against what chance makes of it.

    Bunches come by chance as Poisson's law tells. What is expected is the largest of what other pairs of runs show at
    this very lag, of what the lags around it show, and of what independent iterations would.
    """
    tried = len(counted) * len(WIDTHS) * len(lags)
    return min(
        (_most(pairs, width, lags, tried) for pairs in counted for width in WIDTHS),
        key=lambda found: found.p_value,
    )


def _most(pairs: Coincidences, width: int, lags: NDArray[np.int64], tried: int) -> Recurrence:
    even = pairs.slots * (pairs.slow.sum() / pairs.slow.size) ** 2
    seen, elsewhere, chance = (_boxed(each, width) for each in (pairs.seen, pairs.elsewhere, even))
    expected = np.maximum.reduce([elsewhere, chance, _around(seen, width)])
    chances = scipy.special.pdtrc(np.maximum(seen / pairs.bunch - 1, 0), expected / pairs.bunch)[lags]
    chances[(seen[lags] < LEAST_PAIRS) | (np.abs(lags) <= width)] = 1
    at = int(np.argmin(chances))
    lag, excess = int(lags[at]), (seen - expected)[lags]
    alike = (excess >= excess[at] / 2) & (chances < 1e-3 / len(lags))
    standing = lags[alike & _peaks(seen, width)[lags]]
    nearest = standing[np.argsort(np.abs(standing), kind="stable")]
    return Recurrence(
        lag=lag,
        width=width,
        pairs=int(seen[lag]),
        expected=float(expected[lag]),
        p_value=min(1.0, float(chances[at]) * tried),
        standing=tuple(nearest.tolist()) or (lag,),
        slow=pairs.slow,
    )


def _memory(ranks: NDArray[np.float64]) -> int:
    """Lag in iterations up to which neighbours within a run are alike, but for what all runs have in common."""
    centred = ranks - ranks.mean(axis=0)
    spectra = scipy.fft.rfft(centred, 2 * ranks.shape[1], axis=1)
    correlation = scipy.fft.irfft((np.abs(spectra) ** 2).sum(axis=0))[: ranks.shape[1] // 4]
    forgotten = np.flatnonzero(correlation < FORGOTTEN * correlation[0])
    return int(forgotten[0]) - 1 if forgotten.size else 0


def _boxed(counts: Counts, width: int) -> Counts:
    return np.asarray(scipy.ndimage.uniform_filter1d(counts, width, mode="wrap") * width)


def _peaks(seen: Counts, width: int) -> NDArray[np.bool_]:
    """Where lags that count together have their middle."""
    middled = np.round(_boxed(seen, width))
    return np.asarray(middled >= scipy.ndimage.maximum_filter1d(middled, 2 * width + 1, mode="wrap"))


def _around(seen: Counts, width: int) -> Counts:
    """Mean of the lags around each, without itself and what a width reaches."""
    near = 2 * width + 1
    wide = scipy.ndimage.uniform_filter1d(seen, AROUND, mode="wrap") * AROUND
    return np.asarray(
        (wide - scipy.ndimage.uniform_filter1d(seen, near, mode="wrap") * near) / (AROUND - near)
    )
