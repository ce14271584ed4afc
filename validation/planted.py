"""Durations without artifacts, as noise of several kinds, and with one of known strength planted."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import signal

Samples = NDArray[np.float64]
Shape = tuple[int, int]
Noise = Callable[[np.random.Generator, Shape], Samples]
Plant = Callable[[np.random.Generator, Samples, float], Samples]

USUAL_NS: Final = 50_000.0
DEVIATION_NS: Final = 2_500.0
"""Of the noise that artifacts are planted in; their strengths are multiples of it."""


def lognormal(rng: np.random.Generator, shape: Shape) -> Samples:
    """Skewed a little."""
    return np.asarray(USUAL_NS * np.exp(DEVIATION_NS / USUAL_NS * rng.standard_normal(shape)))


def gamma(rng: np.random.Generator, shape: Shape) -> Samples:
    """Skewed much: exponential on top of a floor."""
    return USUAL_NS + DEVIATION_NS * rng.gamma(1.0, size=shape)


def heavy_tailed(rng: np.random.Generator, shape: Shape) -> Samples:
    """Pareto of index 1.5 on top of a floor: of no variance."""
    return USUAL_NS + DEVIATION_NS * rng.pareto(1.5, shape)


def ticking(rng: np.random.Generator, shape: Shape) -> Samples:
    """Read from a clock that advances by 1 us: a dozen values."""
    return np.round(lognormal(rng, shape) / 1_000) * 1_000


def two_kinds(rng: np.random.Generator, shape: Shape) -> Samples:
    """A fast and a slow way, three to seven, taken by chance: modes, and nothing else."""
    return lognormal(rng, shape) + 6 * DEVIATION_NS * (rng.random(shape) < 0.3)


def remembering(correlation: float) -> Noise:
    """Autoregressive noise of order 1 within a run."""

    def noise(rng: np.random.Generator, shape: Shape) -> Samples:
        runs, iterations = shape
        settled = rng.standard_normal((runs, iterations + 100)) * (1 - correlation**2) ** 0.5
        along = signal.lfilter([1.0], [1.0, -correlation], settled, axis=1)[:, 100:]
        return np.asarray(USUAL_NS * np.exp(DEVIATION_NS / USUAL_NS * along))

    return noise


def apart(rng: np.random.Generator, shape: Shape) -> Samples:
    """Runs that differ from each other by as much as their iterations do."""
    return lognormal(rng, shape) + DEVIATION_NS * rng.standard_normal((shape[0], 1))


NOISES: Final[dict[str, Noise]] = {
    "lognormal": lognormal,
    "gamma": gamma,
    "heavy-tailed (Pareto 1.5)": heavy_tailed,
    "read from a clock of 1 us": ticking,
    "two kinds, by chance": two_kinds,
    "runs apart": apart,
    "autocorrelated, 0.3": remembering(0.3),
    "autocorrelated, 0.6": remembering(0.6),
    "autocorrelated, 0.9": remembering(0.9),
}


def lines(rng: np.random.Generator, samples: Samples, strength: float, period: float = 33.3) -> Samples:
    """Every 33.3rd iteration is slower, at the same place of every run."""
    begin = rng.uniform(0, period)
    at = np.arange(begin, samples.shape[1], period).astype(int)
    planted = samples.copy()
    planted[:, at] += strength * DEVIATION_NS
    return planted


def own_periods(rng: np.random.Generator, samples: Samples, strength: float, period: int = 40) -> Samples:
    """Every 40th iteration is slower, from anywhere in each run on."""
    begin = rng.integers(period, size=(len(samples), 1))
    slow = (np.arange(samples.shape[1]) - begin) % period == 0
    return np.asarray(samples + strength * DEVIATION_NS * slow)


def diagonals(rng: np.random.Generator, samples: Samples, strength: float, slope: int = 37) -> Samples:
    """One iteration of each run is slower, 37 later in each next run."""
    runs, iterations = samples.shape
    at = (rng.integers(iterations) + slope * np.arange(runs)) % iterations
    planted = samples.copy()
    planted[np.arange(runs), at] += strength * DEVIATION_NS
    return planted


def warm_up(rng: np.random.Generator, samples: Samples, strength: float, iterations: int = 10) -> Samples:
    """The first 10 iterations of each run are slower."""
    planted = samples.copy()
    planted[:, :iterations] += strength * DEVIATION_NS
    return planted


def drift_in_runs(rng: np.random.Generator, samples: Samples, strength: float) -> Samples:
    """Iterations become slower and slower, by so much at the end of each run."""
    return samples + strength * DEVIATION_NS * np.linspace(0, 1, samples.shape[1])


def drift_over_runs(rng: np.random.Generator, samples: Samples, strength: float) -> Samples:
    """Runs become slower and slower, by so much in the last one."""
    return samples + strength * DEVIATION_NS * np.linspace(0, 1, len(samples))[:, None]


def modes(rng: np.random.Generator, samples: Samples, strength: float) -> Samples:
    """Three of ten iterations, by chance, are slower."""
    return samples + strength * DEVIATION_NS * (rng.random(samples.shape) < 0.3)


def shape(rng: np.random.Generator, samples: Samples, strength: float) -> Samples:
    """Exponential delays on top, whose deviation is so much, and the median of the whole is elsewhere."""
    return samples + strength * DEVIATION_NS * rng.exponential(size=samples.shape)


def spread(rng: np.random.Generator, samples: Samples, strength: float) -> Samples:
    """Deviations from the usual are larger by so many times."""
    return USUAL_NS + (1 + strength) * (samples - USUAL_NS)
