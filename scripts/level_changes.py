"""`python -m scripts.level_changes`: the table BY_CHANCE of vtax.statistics.changepoints, simulated."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from vtax.statistics.changepoints import AUTOCORRELATIONS, CHANCES, LEAST_VALUES, evidence

LENGTHS = (LEAST_VALUES, 10, 12, 15, 20, 30, 40, 60, 100, 200)
SERIES = 40_000
ROWS = 2_000_000
"""Numbers that are looked at together, at most: of each series one for every place of a change."""
SEED = 35


def without_change(rng: np.random.Generator, series: int, n: int, phi: float) -> NDArray[np.float64]:
    """Return normal series of variance 1 in which each value is drawn towards the one before it: (series, n)."""
    drawn = rng.standard_normal((series, n)) * math.sqrt(1 - phi**2)
    drawn[:, 0] /= math.sqrt(1 - phi**2)
    return np.asarray(lfilter([1.0], [1.0, -phi], drawn, axis=1))


def by_chance(n: int, series: int) -> NDArray[np.float64]:
    """Return the evidence for a step and for a stretch that is reached with the CHANCES: (2, chances).

    It is that at the autocorrelation at which it is largest: one end or the other of those that are allowed for.
    """
    most = np.zeros((2, len(CHANCES)))
    for phi in (AUTOCORRELATIONS[0], *AUTOCORRELATIONS[-2:]):
        rng, found = np.random.default_rng(SEED), list[NDArray[np.float64]]()
        step = max(1, ROWS // min(n * n, 1_000))
        for begun in range(0, series, step):
            found.append(evidence(without_change(rng, min(step, series - begun), n, phi)).ratios)
        reached = np.quantile(np.concatenate(found, axis=1), 1 - np.array(CHANCES), axis=1).T
        most = np.maximum(most, reached)
    return most


if __name__ == "__main__":
    for n in LENGTHS:
        rows = [f"({', '.join(f'{value:.1f}' for value in row)})" for row in by_chance(n, SERIES)]
        print(f"    {n}: ({', '.join(rows)}),", flush=True)
