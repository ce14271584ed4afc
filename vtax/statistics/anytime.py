"""Intervals that hold at every number of repetitions at once, so that the data may decide when to stop.

A Student interval looked at after each repetition misses in the end: it is narrow at some moment by chance. A
confidence sequence holds the mean at all moments together with its confidence (Darling and Robbins, PNAS 58,
1967). This one inverts a t-test whose evidence against each candidate mean is its likelihood ratio with the
effect size mixed over a normal distribution: scale-invariant, so that the unknown variance drops out, and a
martingale under the candidate, so that Ville's inequality bounds how often it ever misleads (Lai, Annals of
Statistics 4, 1976; Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with
unknown variance, 2023). Values are independent and about normal, as a Student interval wants them. Repetitions of a
cell are not always independent: `adaptive_interval` is wider where neighbours are alike.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Generic, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.apart import around_most, total_interval, typical_interval
from vtax.statistics.autocorrelation import widening
from vtax.statistics.interval import CONFIDENCE, Centre, Interval, RepeatedInterval, Values, mean_interval
from vtax.statistics.resolution import PER_MILLE

Load = TypeVar("Load", bound=Hashable)

EFFECT_VARIANCE: Final = 20.0
"""Variance of the mixed effect size: near the least width for 3 to 30 repetitions, 1.9 of Student's at ten."""
_MANY: Final = 1e100
PACING: Final = 0.005
"""A paced source keeps its intended load within this."""


def anytime_interval(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of `values` with its confidence sequence's interval at this number of them.

    Fewer than three values have no bounds at 95%, and fewer than four none at more than 99%. Equal values have an
    interval of no width from there on. ValueError for no values or one not finite.
    """
    sample = np.asarray(values, dtype=float)
    if not sample.size or not np.isfinite(sample).all():
        raise ValueError(f"a mean needs at least one value, all finite: {list(values)!r}")
    n, mean = int(sample.size), float(sample.mean())
    reach = t_reach(n, 1 - confidence)
    if reach is None:
        return Interval(mean, None, None, n)
    half_width = reach * float(sample.std(ddof=1)) if np.ptp(sample) else 0.0
    return Interval(mean, mean - half_width, mean + half_width, n)


def adaptive_interval(values: Values, confidence: float = CONFIDENCE, step: float = 0.0) -> Interval:
    """Return `typical_interval` where what `values`, in the order of measurement, showed decided how many there are.

    It is wider for what values have in common with the next. Where it stops at a width of 2 to 5% after ten values or
    more, it holds the mean in 95% of campaigns or more up to an autocorrelation of 0.7, in simulation.
    """
    return around_most(values, confidence, step, _of_dependent, anytime_rank)


def adaptive_throughput(values: Values, confidence: float = CONFIDENCE) -> Interval:
    """Return `adaptive_interval` of throughputs, which are known to `PER_MILLE`."""
    return adaptive_interval(
        values, confidence, PER_MILLE.at(float(np.median(values))) if len(values) else 0.0
    )


def adaptive_total(values: Values, confidence: float = CONFIDENCE, step: float = 0.0) -> Interval:
    """Return `total_interval` where what `values`, in the order of measurement, showed decided how many there are."""
    return around_most(values, confidence, step, _of_dependent, None)


def _of_dependent(values: Values, confidence: float) -> Interval:
    found = anytime_interval(values, confidence)
    if found.low is None or found.high is None:
        return found
    half_width = (found.high - found.mean) * float(widening(np.asarray(values, dtype=float)))
    return Interval(found.mean, found.mean - half_width, found.mean + half_width, found.n)


def repeated_interval(*, adaptive: bool, total: bool = False) -> RepeatedInterval:
    """Return how the interval over repetitions is taken: `adaptive` ones decided how many there are.

    A `total` is of all repetitions, and its mean is kept whatever stands apart.
    """
    if adaptive:
        return adaptive_total if total else adaptive_interval
    return total_interval if total else typical_interval


def repeated_mean(*, adaptive: bool) -> RepeatedInterval:
    """Return how the interval of a mean over repetitions is taken by whoever asks for nothing else."""
    mean = _of_dependent if adaptive else mean_interval

    def interval(values: Values, confidence: float = CONFIDENCE, step: float = 0.0) -> Interval:
        return mean(values, confidence)

    return interval


def t_reach(n: int, miss: float) -> float | None:
    """Return the half width in sample standard deviations; None where so few values cannot exclude any mean.

    The evidence against a mean at t standard errors is (1 + n g)^(-1/2) [(1 + u) / (1 + u / (1 + n g))]^(n/2)
    with u = t^2 / (n - 1) and g the effect's variance; it is solved for 1 / miss.
    """
    if n < 2:
        return None
    spread = 1 + n * EFFECT_VARIANCE
    ratio = (math.sqrt(spread) / miss) ** (2 / n)
    if ratio >= spread:
        return None
    u = (ratio - 1) / (1 - ratio / spread)
    return math.sqrt(u * (n - 1) / n)


def anytime_rank(values: Values, confidence: float) -> int:
    """Return the rank, from either end, of the value that ends a median's interval at every moment; 0 where none does.

    How many values lie on one side is a coin's number of heads: the evidence against a median is the likelihood of that
    number, with the coin's bias mixed evenly, over a fair one's (Robbins, Annals of Mathematical Statistics 41, 1970).
    Where values have something in common with the next they count for fewer.
    """
    n = len(values)
    independent = max(1, int(n / float(widening(np.asarray(values, dtype=float))) ** 2))
    return _rank(independent, 1 - confidence) * n // independent


@lru_cache(maxsize=1024)
def _rank(n: int, miss: float) -> int:
    return int((log_sign_evidence(n)[: n // 2 + 1] >= -math.log(miss)).sum())


def log_sign_evidence(n: int) -> NDArray[np.float64]:
    """Return the logarithm of the evidence against a median that 0, 1 ... n of `n` values lie below: (n + 1,)."""
    below = np.arange(n + 1)
    found: NDArray[np.float64] = n * math.log(2) + scipy.special.betaln(below + 1, n - below + 1)
    return found


def log_t_evidence(n: int, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the evidence against a mean so many sample standard deviations from that of n values."""
    spread = 1 + n * EFFECT_VARIANCE
    # Of values that do not vary the deviations are infinite, and the evidence is not.
    u = n * np.square(np.minimum(np.abs(deviations), _MANY)) / (n - 1)
    found: NDArray[np.float64] = (n * (np.log1p(u) - np.log1p(u / spread)) - math.log(spread)) / 2
    return found


@dataclass(frozen=True)
class Ladder(Generic[Load]):
    """Loads whose largest true mean is looked for, with an interval of it that holds at every moment.

    `low` and `high` bound each load's true mean, all of them together; `best` is the load with the largest
    sample mean, `interval` of the largest true mean.
    """

    low: Mapping[Load, float]
    high: Mapping[Load, float]
    best: Load
    interval: Interval

    def wanted(self, width: float) -> set[Load]:
        """Return the loads to be measured again for an interval that is `width` of its estimate wide.

        The best load, and those whose upper bound keeps the interval wider (after LUCB: Kalyanakrishnan,
        Tewari, Auer and Stone, ICML 2012).
        """
        enough = max(self.low.values()) + width * abs(self.interval.mean)
        return {self.best} | {load for load, high in self.high.items() if high > enough}


def climb(
    loads: Mapping[Load, Sequence[float]], caps: Mapping[Load, float], confidence: float = CONFIDENCE
) -> Ladder[Load]:
    """Return where the search for the largest true mean of `loads` stands; each has a value, or ValueError.

    Each load's interval misses by its share of what all may miss together (Bonferroni), so that all hold at all
    moments together: the largest mean is at least the largest lower bound, and at most the largest upper one.
    `caps` are bounds of the means that are known beforehand, as that no load carries more than was offered.
    """
    each = 1 - (1 - confidence) / max(1, len(loads))
    found = {load: adaptive_throughput(values, each) for load, values in loads.items()}
    low = {load: -math.inf if at.low is None else at.low for load, at in found.items()}
    high = {
        load: min(caps.get(load, math.inf), math.inf if at.high is None else at.high)
        for load, at in found.items()
    }
    best = max(found, key=lambda load: found[load].mean)
    own, least, most = found[best], max(low.values()), max(high.values())
    known = math.isfinite(least) and math.isfinite(most)
    bounds = (min(least, own.mean), max(most, own.mean)) if known else (None, None)
    return Ladder(low, high, best, replace(own, low=bounds[0], high=bounds[1]))


def climbed_ratio(one: Ladder[Load], other: Ladder[Load]) -> Interval:
    """Return the ratio of two largest means; of two ladders at 97.5% it misses no more than 5%.

    Nothing is paired: the sides stop at different repetitions.
    """
    first, second = one.interval, other.interval
    ratio = Interval(
        first.mean / second.mean,
        None,
        None,
        min(first.n, second.n),
        Centre.MEDIAN if Centre.MEDIAN in (first.centre, second.centre) else Centre.MEAN,
        max(first.apart, second.apart),
    )
    if first.low is None or first.high is None or not second.low or not second.high or second.low <= 0:
        return ratio
    return replace(ratio, low=first.low / second.high, high=first.high / second.low)


def load_cap(intended_mbps: float, streams: int) -> float:
    """Return what a paced load's throughput cannot exceed: what was to be offered, and what pacing may add to it."""
    return intended_mbps * streams * (1 + PACING)


def relative_width(interval: Interval) -> float | None:
    """Return the interval's width as a share of its estimate; None where it has no bounds, or the estimate is zero."""
    if interval.low is None or interval.high is None:
        return None
    width = interval.high - interval.low
    if interval.mean == 0:
        return 0.0 if width == 0 else None
    return width / abs(interval.mean)
