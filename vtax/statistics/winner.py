"""The largest of several means: bounds that hold although it was picked for being the largest.

The model: blocks are independent, a value is its load's mean plus a shift that its block gives to all loads plus
noise of its own, both normal; loads that come close to the largest mean have alike noise. Loads that do not come
close may have any: a source far below a platform's limit repeats to the last digit.

The largest sample mean overshoots where several loads are as good, and by no more than the largest of as many
equal ones does. So it may lie below the true maximum by a Student quantile, however many loads there are, and
above it by a quantile of the studentised maximum of the loads that come close (Dunnett, Journal of the American
Statistical Association 50, 1955). The two are set to miss 5% together where those loads are equal. Loads that
nearly are cannot be told from them, and there the bounds miss less often.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

Values = NDArray[np.float64]

CLOSE: Final = 3.0
"""Standard errors of a difference within which a load may be as good as the best: of eight equal ones nearly
all are."""

_STEPS: Final = 32
_MIDDLES: Final = (np.arange(_STEPS) + 0.5) / _STEPS


@dataclass(frozen=True)
class Contest:
    """The loads of one platform, weighed by how well they may be the best.

    `largest` is the largest mean. `variance` is that of a value of one of the best loads, `noise` the part of
    it that loads do not share within a block. `concentration` is 1 where one load alone may be the best and 1/k
    where k may, `close` the number of loads that come close. `weights` is of each load, 1 in all.
    """

    largest: float
    variance: float
    noise: float
    concentration: float
    close: int
    weights: Values


def contest(values: Values) -> Contest:
    """Weigh the loads of `values` (blocks by loads, NaN where a trial is missing, none at the best load).

    A load's weight is the p value of its difference from the best, so that a variance of a few blocks becomes
    one of many trials where many loads are as good, and stays the best load's own where it is alone. It is taken
    twice: by each difference's own variance, and then by the one that results, because loads that happened to
    vary much would weigh too much.
    """
    means = np.nanmean(values, axis=0)
    best = int(means.argmax())
    covariance = covariances(values, values)
    own = np.diag(covariance)
    blocks = np.isfinite(values).sum(axis=0)
    gaps = means[best] - means
    weights = _weights(gaps, own + own[best] - 2 * covariance[best], blocks)
    _, noise = _components(weights, covariance)
    weights = _weights(gaps, np.full(len(own), 2 * noise), blocks)
    variance, noise = _components(weights, covariance)
    close = int((gaps <= CLOSE * math.sqrt(2 * noise / blocks[best])).sum()) if noise else 1
    return Contest(float(means[best]), variance, noise, float(weights @ weights), close, weights)


def _weights(gaps: Values, variances: Values, blocks: NDArray[np.int64]) -> Values:
    """Each load's p value for being the best, given the variances of its differences; 1 in all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * scipy.special.stdtr(blocks - 1, -gaps / np.sqrt(np.maximum(variances, 0) / blocks))
    p_values[gaps == 0] = 1
    return np.asarray(p_values / p_values.sum())


def _components(weights: Values, covariance: Values) -> tuple[float, float]:
    """The variance of a value, and of it the part that loads do not share within a block."""
    own = np.diag(covariance)
    variance, concentration = float(weights @ own), float(weights @ weights)
    if concentration > 1 - 1e-9:
        return variance, variance
    shared = float(weights @ covariance @ weights - weights**2 @ own) / (1 - concentration)
    return variance, variance - min(max(shared, 0.0), variance)


def covariances(first: Values, second: Values) -> Values:
    """Return the covariance of each load of `first` with each of `second` over the blocks that both have."""
    here, there = np.isfinite(first), np.isfinite(second)
    common = here.T.astype(float) @ there
    one = np.where(here, first - np.nanmean(first, axis=0), 0.0)
    other = np.where(there, second - np.nanmean(second, axis=0), 0.0)
    found: Values = one.T @ other / np.maximum(common - 1, 1)
    return found


def maximum_bounds(values: Values, confidence: float) -> tuple[float, float]:
    """Return bounds of the largest of the loads' true means."""
    one = contest(values)
    if one.variance == 0:
        return one.largest, one.largest
    df = _degrees_of_freedom(len(values), one.variance, one, None)
    reach = scipy.special.stdtrit(df, (1 + confidence) / 2) * math.sqrt(one.variance / len(values))
    below = reach * _overshoot(one.close, 1 - one.noise / one.variance, df, confidence)
    return one.largest - below, one.largest + reach


def difference_bounds(values: Values, reference: Values, confidence: float) -> tuple[float, float]:
    """Return bounds of how far the largest true mean of `values` is above that of `reference`, block by block.

    What both sides share in a block cancels. Below, the first side's overshoot counts, and above the other's;
    that the two cancel where both have loads as good as the best is not made use of.
    """
    one, other = contest(values), contest(reference)
    difference = one.largest - other.largest
    variance = _difference_variance(one, other, values, reference)
    if variance <= 0:
        return difference, difference
    df = _degrees_of_freedom(len(values), variance, one, other)
    reach = scipy.special.stdtrit(df, (1 + confidence) / 2) * math.sqrt(variance / len(values))
    below = reach * _overshoot(one.close, 1 - one.noise / variance, df, confidence)
    above = reach * _overshoot(other.close, 1 - other.noise / variance, df, confidence)
    return difference - below, difference + above


def _difference_variance(one: Contest, other: Contest, values: Values, reference: Values) -> float:
    """Return the variance of a value minus one of `reference` in the same block, weighed over pairs of loads.

    Where no trial is missing it is taken from the differences: what both sides share may be a million times more.
    """
    if np.isfinite(values).all() and np.isfinite(reference).all():
        # Load by load: the differences of all pairs in all blocks would not fit into memory.
        squares = np.array([_squares(values[:, [load]] - reference) for load in range(values.shape[1])])
        return float(one.weights @ squares @ other.weights) / max(len(values) - 1, 1)
    shared = float(one.weights @ covariances(values, reference) @ other.weights)
    return one.variance + other.variance - 2 * shared


def _squares(values: Values) -> Values:
    """Return each column's sum of squared deviations from its mean."""
    return np.asarray(((values - values.mean(axis=0)) ** 2).sum(axis=0))


def _degrees_of_freedom(blocks: int, variance: float, one: Contest, other: Contest | None) -> float:
    """Satterthwaite's (Biometrics Bulletin 2, 1946) of a variance weighed over pairs of loads.

    Two pairs covary by the variance less the noise of each side on which they differ.
    """
    sides = [(each.noise, each.concentration) for each in (one, other) if each]
    total = 0.0
    for differing in np.ndindex(*(2 for _ in sides)):
        covariance, weight = variance, 1.0
        for (noise, concentration), differs in zip(sides, differing, strict=True):
            covariance -= noise if differs else 0.0
            weight *= 1 - concentration if differs else concentration
        total += weight * max(covariance, 0.0) ** 2
    return max((blocks - 1) * variance**2 / total, 1.0)


def _overshoot(loads: int, common: float, df: float, confidence: float) -> float:
    """By what the Student quantile is multiplied below the largest of `loads` equal means.

    `common` and `df` are rounded so that the integral is kept for the next; less in common is more overshoot.
    """
    if loads == 1:
        return 1.0
    rounded_df = round(1.1 ** round(math.log(min(df, 500), 1.1)), 3)
    return _studentised_maximum(loads, math.floor(10 * max(common, 0.0)) / 10, rounded_df, confidence)


@lru_cache(maxsize=4096)
def _studentised_maximum(loads: int, common: float, df: float, confidence: float) -> float:
    """The same, by numerical integration over the estimated standard deviation and the common part."""
    scale = np.sqrt(scipy.special.chdtri(df, 1 - _MIDDLES) / df)[:, np.newaxis]
    shift = math.sqrt(common) * scipy.special.ndtri(_MIDDLES)
    own = math.sqrt(max(1 - common, 1e-6))

    def largest_below(bound: float, many: int) -> float:
        return float((scipy.special.ndtr((bound * scale - shift) / own) ** many).mean())

    def quantile(miss: float, many: int) -> float:
        low, high = 0.0, 200.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if 1 - largest_below(middle, many) > miss else (low, middle)
        return (low + high) / 2

    miss = (1 - confidence) / 2
    student = quantile(miss, 1)
    return max(quantile(2 * miss - largest_below(-student, loads), loads) / student, 1.0)
