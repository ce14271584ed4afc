"""What values lie around at every number of them, though some stand apart: a t-test and a sign test together.

The evidence of a t-test against a candidate is weak where one value lies far out, since the scatter is large then. That
of a sign test counts how many values lie on either side of the candidate, however far. Under a candidate that values
are normal around, and as likely on either side of, each is a martingale, and so is the mean of the two (Vovk and Wang,
E-values: calibration, combination and applications, Annals of Statistics 49, 2021): Ville's inequality bounds how often
it ever misleads. An interval has both the mean and the median in it, so that a verdict needs both on one side.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.anytime import log_sign_evidence, log_t_evidence, t_reach
from vtax.statistics.power import POWER

Values = NDArray[np.float64]

_SAMPLES: Final = 1_000
_MOST_EVIDENCE: Final = 700.0
"""Logarithm of more evidence than any miss asks for."""
_FARTHEST: Final = 1e3
"""Standard deviations; a change that has to be larger to be found counts as never found."""


def centre_interval(values: Values, miss: float) -> tuple[float, float] | None:
    """Return what the evidence does not exclude at 1 / `miss`, both ends; None where it excludes nothing.

    Between two neighbouring values the sign test's evidence is the same everywhere, and leaves the t-test's so much to
    add.
    """
    n, mean, median, scatter = len(values), float(values.mean()), float(np.median(values)), _scatter(values)
    edges = np.array([-math.inf, *np.sort(values), math.inf])
    low, high = min(mean, median), max(mean, median)
    least_of_t = float(np.exp(log_t_evidence(n, np.zeros(()))))
    for below, signs in enumerate(np.exp(np.minimum(log_sign_evidence(n), _MOST_EVIDENCE))):
        left = 2 / miss - float(signs)
        if left <= least_of_t:
            continue
        reach = t_reach(n, 1 / left)
        half = math.inf if reach is None else reach * float(scatter)
        least, most = max(edges[below], mean - half), min(edges[below + 1], mean + half)
        if least <= most:
            low, high = min(low, float(least)), max(high, float(most))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def centre_chance(values: Values, candidate: float) -> NDArray[np.float64]:
    """Return the least miss whose interval excludes the candidate; 1 of one between mean and median.

    Values lie along the last axis; any others are of as many samples.
    """
    n, scatter = values.shape[-1], _scatter(values)
    mean, median = values.mean(axis=-1), np.median(values, axis=-1)
    away = np.abs(candidate - mean)
    deviations = np.divide(away, scatter, out=np.full_like(away, math.inf), where=scatter > 0)
    fewer = n - np.maximum((values < candidate).sum(axis=-1), (values > candidate).sum(axis=-1))
    signs = log_sign_evidence(n)[np.minimum(fewer, n // 2)]
    evidence = np.logaddexp(log_t_evidence(n, deviations), signs) - math.log(2)
    within = (np.minimum(mean, median) <= candidate) & (candidate <= np.maximum(mean, median))
    return np.where(within, 1.0, np.exp(-np.maximum(evidence, 0)))


@lru_cache(maxsize=4096)
def centre_distance(n: int, miss: float) -> float | None:
    """Return how far normal values of deviation 1 have to lie from a candidate for 80% of such samples to exclude it.

    None where none does. It is simulated, always with the same samples.
    """
    drawn = np.random.default_rng(n).standard_normal((_SAMPLES, n))

    def is_found(distance: float) -> bool:
        return bool(np.mean(centre_chance(drawn, -distance) <= miss) >= POWER)

    if not is_found(_FARTHEST):
        return None
    return float(
        scipy.optimize.bisect(lambda each: 1.0 if is_found(each) else -1.0, 0.0, _FARTHEST, rtol=1e-4)
    )


def _scatter(values: Values) -> NDArray[np.float64]:
    """Return each sample's deviation; 0 for equal values, of which rounding may leave some."""
    return np.where(np.ptp(values, axis=-1) > 0, values.std(axis=-1, ddof=1), 0.0)
