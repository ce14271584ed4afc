"""The smallest change that a test finds, given how many values it has and how much they scatter.

A test finds a change where the estimate lies farther from a bound than a critical distance. Where the scatter is
estimated from the same values, that distance varies too: with few values the power is far below what a fixed distance
gives. Here the distance is taken over the distribution of the estimated variances (chi-square), and the estimate is
normal around the true change (Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988,
chapter 2, for the question; the quadrature is exact for normal values but for its step).
"""

import math
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

POWER: Final = 0.8
"""Share of campaigns that are to find a change: Cohen's convention."""

_STEPS: Final = 32

MOST_TIMES: Final = 10_000
"""More times as many values than this are no advice."""

Scatter = NDArray[np.float64]


def scatter_ratios(n: int) -> Scatter:
    """Return equally likely ratios of the sample variance of `n` normal values to the true one."""
    middles = (np.arange(_STEPS) + 0.5) / _STEPS
    ratios: Scatter = scipy.special.chdtri(n - 1, middles) / (n - 1)
    return ratios


def detectable_distance(critical: Scatter, error: float, power: float = POWER) -> float:
    """Return how far the truth must lie from a bound for an estimate to lie beyond the critical distance.

    `critical` holds equally likely critical distances, `error` is the standard error of the estimate, and `power` the
    share of estimates that lie beyond.
    """
    if error == 0:
        return float(np.quantile(critical, power))

    def excess(distance: float) -> float:
        return float(scipy.special.ndtr((distance - critical) / error).mean()) - power

    margin = -float(scipy.special.ndtri((1 - power) / 2)) * error
    return float(
        scipy.optimize.brentq(excess, float(critical.min()) - margin, float(critical.max()) + margin)
    )


def times_as_many(room: float, error: float, freedom: float, p_value: float) -> float | None:
    """Return how many times as many values would tell a difference from a bound that is `room` away; None of too many.

    Told by 80% of such experiments at that p value: a standard error that falls with the root of their number has to
    leave room for Student's quantile and for the power (Cohen 1988, chapter 2). `error` and `freedom` are those of the
    values at hand.
    """

    def is_enough(times: float) -> bool:
        quantile = float(scipy.special.stdtrit(freedom * times, 1 - p_value) + scipy.special.ndtri(POWER))
        return quantile * error / math.sqrt(times) <= room

    if room <= 0 or not is_enough(MOST_TIMES):
        return None
    if is_enough(1.0):
        return 1.0
    return float(
        scipy.optimize.bisect(lambda times: 1.0 if is_enough(times) else -1.0, 1.0, MOST_TIMES, xtol=0.01)
    )
