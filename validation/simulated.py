"""Simulated campaigns whose truth is known: how often the views' intervals hold it, and what picking costs.

Every campaign goes through the functions of vtax.statistics that the views call. The shares come with their
simulation error, two standard errors.
"""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from validation.section import Check, Section
from vtax.statistics import (
    Distribution,
    Interval,
    mean_interval,
    paired_ratio,
    quantile_interval,
    ratio_of_maxima,
    select_maximum,
)

CAMPAIGNS = 10_000
LOADS = 8
MBPS = 900.0

TEXT = """
Campaigns are drawn with a known truth, and go through the very functions that tables, figures and sentences
use. A 95% interval must hold the truth in 94 to 96% of them; it misses where the share is beyond that by more
than its simulation error, two standard errors. Values vary with a coefficient of variation (CV) from repetition
to repetition, and blocks by as much again where it says so. Shapes are in standard deviations of a value, so
that they stand for every CV.

A maximum is the largest of eight loads' true means. On a plateau several loads are as good; loads apart by less
than the noise of a mean cannot be told from such a plateau, so no interval is exact in both cases: one that
holds the maximum of a plateau 95 times in 100 must hold that of nearly equal loads more often. There it must be
94% or more, as it must of values with heavy tails, which are outside the model. *Width* is the interval's
median width over that of the load known to be best, measured as often. *Bias* is the estimate less the largest
true mean, in standard deviations of a value; nearly equal loads have one below zero, by what a wrong pick
costs, which no estimate can be without (Blumenthal and Cohen 1968).
"""


@dataclass(frozen=True)
class Shape:
    """Loads' true means below the largest and their noise, both in standard deviations of the best load."""

    name: str
    below: tuple[float, ...]
    noise: tuple[float, ...] = (1.0,) * LOADS
    at_most: float = 96
    nearly_equal: bool = False
    heavy_tails: bool = False


HEAVY_TAILS = Shape(
    "a plateau of eight, tails of Student's t with 5 degrees", (0.0,) * LOADS, at_most=100, heavy_tails=True
)


def shapes(n: int) -> list[Shape]:
    """What throughput over load looks like; loads that are nearly equal are a standard error of a mean apart."""
    error = n**-0.5
    return [
        Shape("a plateau of eight", (0.0,) * LOADS),
        Shape("a rise to one best", (35.0, 30.0, 25.0, 20.0, 15.0, 10.0, 5.0, 0.0), (0.01,) * 7 + (1.0,)),
        Shape(
            "a rise, a plateau of three, a noisy collapse",
            (30.0, 20.0, 10.0, 0.0, 0.0, 0.0, 15.0, 30.0),
            (0.01, 0.01, 0.01, 1.0, 1.0, 1.0, 3.0, 5.0),
        ),
        Shape("two equal ones", (25.0,) * 6 + (0.0, 0.0), at_most=100),
        Shape("two nearly equal ones", (25.0,) * 6 + (error, 0.0), at_most=100, nearly_equal=True),
        Shape(
            "a ladder of nearly equal ones",
            tuple(error * step for step in range(LOADS)),
            at_most=100,
            nearly_equal=True,
        ),
    ]


@dataclass
class Tally:
    """What became of many intervals of one truth."""

    truth: float
    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, found: Interval | None) -> None:
        """Count an interval; one without bounds is a mistake here."""
        if found is None or found.low is None or found.high is None:
            raise ValueError(f"a simulated campaign has an interval: {found}")
        self.held.append(found.low <= self.truth <= found.high)
        self.widths.append(found.high - found.low)

    def check(self, what: str, *, at_most: float = 96, width: str = "") -> Check:
        """Whether the share held is within a point of 95%, or in 94 to `at_most`."""
        share = 100 * float(np.mean(self.held))
        error = 200 * float(np.std(self.held)) / len(self.held) ** 0.5
        bound = f"94 to {at_most:g}%" if at_most < 100 else "94% or more"
        measured = f"{share:.1f} ± {error:.1f}% of {len(self.held):,} held{width}"
        return Check(what, measured, bound, 94 - error <= share <= at_most + error)


Case = Callable[[np.random.Generator], list[Check]]


def run(directory: Path) -> Section:
    """Simulate all families on two CPUs; nothing is kept in `directory`, a seed gives the same campaigns."""
    cases = range(len(all_cases()))
    with ProcessPoolExecutor(min(2, len(os.sched_getaffinity(0)))) as pool:
        checks = [check for found in pool.map(carry_out, cases) for check in found]
    return Section("Simulated campaigns", TEXT, tuple(checks))


def carry_out(number: int) -> list[Check]:
    """The checks of one case, with a seed of its own."""
    return all_cases()[number](np.random.default_rng([1905, number]))


def all_cases() -> list[Case]:
    """Every case of the page, in its order."""
    repetitions = (3, 5, 10)
    return [
        *(partial(means, n, skewed) for skewed in (False, True) for n in repetitions),
        *(partial(ratios, n) for n in repetitions),
        *(partial(quantiles, n, q, cv) for q in (0.5, 0.99) for cv in (0.0, 0.05) for n in repetitions),
        *(partial(maxima, n, shape, False) for n in repetitions for shape in shapes(n)),
        *(partial(maxima, n, shapes(n)[0], True) for n in repetitions),
        *(partial(maxima, n, HEAVY_TAILS, False) for n in repetitions),
        *(
            partial(ratios_of_maxima, n, one, other)
            for n in repetitions
            for one, other in ((1, 1), (0, 1), (1, 0), (0, 0))
        ),
    ]


def means(n: int, skewed: bool, rng: np.random.Generator) -> list[Check]:
    """Means of normal values, or of lognormal ones with a CV of 10%."""
    tally = Tally(MBPS)
    sigma = np.log(1 + 0.1**2) ** 0.5
    values = (
        rng.lognormal(np.log(MBPS) - sigma**2 / 2, sigma, (CAMPAIGNS, n))
        if skewed
        else rng.normal(MBPS, 0.02 * MBPS, (CAMPAIGNS, n))
    )
    for sample in values.tolist():
        tally.add(mean_interval(sample))
    return [tally.check(f"mean, {'lognormal, CV 10%' if skewed else 'normal, CV 2%'}, n = {n}")]


def ratios(n: int, rng: np.random.Generator) -> list[Check]:
    """Ratios of two platforms whose blocks drift by 10% and whose trials vary by 2%."""
    tally = Tally(0.8)
    drift = rng.lognormal(0, 0.1, (CAMPAIGNS, 1, n))
    values = (np.array([[0.8], [1.0]]) * drift * rng.lognormal(0, 0.02, (CAMPAIGNS, 2, n))).tolist()
    for measured, reference in values:
        tally.add(paired_ratio(dict(enumerate(measured)), dict(enumerate(reference))))
    return [tally.check(f"paired ratio, blocks drift by 10%, CV 2%, n = {n}")]


def quantiles(n: int, q: float, cv: float, rng: np.random.Generator) -> list[Check]:
    """Quantiles of lognormal delays of 1,000 probes in the sink's buckets, repetitions that differ by `cv`."""
    tally = Tally(20_000 * float(np.exp(0.3 * stats.norm.ppf(q))))
    for _ in range(CAMPAIGNS):
        medians = 20_000 * rng.lognormal(0, cv, (n, 1))
        delays = medians * np.exp(0.3 * rng.standard_normal((n, 1000)))
        tally.add(quantile_interval([_histogram(each) for each in delays], q))
    differ = f"repetitions differ by {cv:.0%}" if cv else "repetitions alike"
    return [tally.check(f"p{100 * q:g} of delay, 1,000 probes, {differ}, n = {n}")]


def _histogram(delays_ns: NDArray[np.float64]) -> Distribution:
    """Filed as the sink does: 128 buckets to each power of two, by their middles."""
    widths = 2.0 ** (np.floor(np.log2(delays_ns)) - 7)
    middles, counts = np.unique((np.floor(delays_ns / widths) + 0.5) * widths, return_counts=True)
    return Distribution(middles.astype(np.int64), counts.astype(np.int64))


def maxima(n: int, shape: Shape, drifting: bool, rng: np.random.Generator) -> list[Check]:
    """The maximum over loads, CV 2%; `drifting` blocks vary by as much again."""
    deviation = 0.02 * MBPS
    tally, errors = Tally(MBPS), []
    for values in _campaigns(n, shape, deviation, drifting, rng):
        found = select_maximum(_loads(values))
        if found is None:
            raise ValueError("a simulated campaign has a maximum")
        tally.add(found.interval)
        errors.append(found.interval.mean - MBPS)
    known = 2 * stats.t.ppf(0.975, n - 1) * (deviation**2 * (1 + drifting) / n) ** 0.5
    what = f"maximum, {shape.name}{', drifting blocks' if drifting else ''}, n = {n}"
    width = f", width {np.median(tally.widths) / known:.2f}"
    covered = tally.check(what, at_most=shape.at_most, width=width)
    bias = float(np.mean(errors)) / deviation
    error = 2 * float(np.std(errors)) / deviation / len(errors) ** 0.5
    if shape.nearly_equal:
        return [covered]
    return [
        covered,
        Check(
            f"its bias, n = {n}",
            f"{bias:+.3f} ± {error:.3f} of a standard deviation",
            "±0.02, or its error",
            abs(bias) <= max(0.02, error),
        ),
    ]


def ratios_of_maxima(n: int, one: int, other: int, rng: np.random.Generator) -> list[Check]:
    """The ratio of a platform's maximum to that of raw, blocks drifting by 2%, CV 2%."""
    tally = Tally(0.8)
    measured, reference = shapes(n)[one], shapes(n)[other]
    deviation = 0.02 * MBPS
    drift = rng.normal(0, 0.02, (CAMPAIGNS, n, 1))
    first = 0.8 * np.exp(drift) * _campaigns(n, measured, deviation, False, rng)
    second = np.exp(drift) * _campaigns(n, reference, deviation, False, rng)
    for here, there in zip(first, second, strict=True):
        tally.add(ratio_of_maxima(_loads(here), _loads(there)))
    return [
        tally.check(
            f"ratio of maxima, {measured.name} to {reference.name}, n = {n}",
            at_most=100 if one == other == 0 else 96,
        )
    ]


def _campaigns(
    n: int, shape: Shape, deviation: float, drifting: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    means = MBPS * (1 - np.array(shape.below) * deviation / MBPS)
    size = (CAMPAIGNS, n, LOADS)
    drawn = rng.standard_t(5, size) / (5 / 3) ** 0.5 if shape.heavy_tails else rng.standard_normal(size)
    noise = drawn * np.array(shape.noise)
    blocks = rng.standard_normal((CAMPAIGNS, n, 1)) * drifting
    return np.asarray(np.maximum(means + deviation * (noise + blocks), 1.0))


def _loads(values: NDArray[np.float64]) -> dict[int, dict[int, float]]:
    return {load: dict(enumerate(column)) for load, column in enumerate(values.T.tolist())}
