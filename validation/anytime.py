"""Simulated campaigns that look at their intervals after every repetition: how often these hold throughout."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from validation.section import Check, Section
from vtax.statistics import anytime_interval, climb, mean_interval
from vtax.statistics.interval import CONFIDENCE, MeanInterval

CAMPAIGNS = 10_000
LOOKS = 100
"""Repetitions of a campaign, each of which is looked at."""
MBPS = 900.0
CV = 0.02
MAXIMUM_CAMPAIGNS, MAXIMUM_LOOKS, LOADS = 1_000, 40, 8

Noise = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

TEXT = """
A campaign with `precision` looks at its intervals after every repetition and stops when they are narrow. An interval
that allows for this holds the truth at every repetition up to 100 in 95% of the campaigns or more. There are 10,000,
values normal or with the tails of Student's t with 5 degrees (CV 2%). *Where it stops* is the share of campaigns
whose interval holds the truth when it is at most 2% wide, with the mean number of repetitions. Student's interval
stands beside it for what looking costs without; nothing is asked of it. The maximum is that of eight loads, at every
repetition up to 40 in 1,000 campaigns.
"""


def run(directory: Path) -> Section:
    """Simulate all; nothing is written to `directory`."""
    rng = np.random.default_rng(20_260)
    checks = [
        *means("normal values", np.random.Generator.standard_normal, rng),
        *means("values with heavy tails", heavy_tails, rng),
        maxima("a plateau of eight", np.zeros(LOADS), rng),
        maxima("a rise to one best", -np.arange(LOADS - 1, -1, -1.0), rng),
    ]
    return Section("Intervals that hold at every repetition", TEXT, tuple(checks))


def heavy_tails(rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.float64]:
    """Student's t with 5 degrees of freedom, of variance 1."""
    return np.asarray(rng.standard_t(5, size) / (5 / 3) ** 0.5)


def means(what: str, noise: Noise, rng: np.random.Generator) -> list[Check]:
    """The mean throughput of a cell, looked at after every repetition from the third on."""
    values = MBPS * (1 + CV * noise(rng, (CAMPAIGNS, LOOKS)))
    checks = []
    for name, interval, asked in (("", anytime_interval, True), ("Student's of ", mean_interval, False)):
        throughout, stopped, repetitions = _followed(values, interval)
        for measured, shares in (
            (f"{name}{what}, at every one of {LOOKS} repetitions", throughout),
            (f"{name}{what}, where it stops, n = {repetitions:.1f}", stopped),
        ):
            checks.append(_check(measured, shares, asked))
    return checks


def _followed(
    values: NDArray[np.float64], interval: MeanInterval
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], float]:
    """Of each campaign whether the interval held throughout, and where it stops; the mean n there.

    An interval reaches so many sample standard deviations as it does for values of deviation 1.
    """
    throughout = np.ones(len(values), dtype=bool)
    stopped, stopped_at = np.ones(len(values), dtype=bool), np.full(len(values), float(LOOKS))
    going = np.ones(len(values), dtype=bool)
    for n in range(3, LOOKS + 1):
        alike = np.resize([-1.0, 1.0], n)
        reach = interval((alike / alike.std(ddof=1)).tolist(), CONFIDENCE)
        if reach.high is None:
            continue
        mean, deviation = values[:, :n].mean(axis=1), values[:, :n].std(axis=1, ddof=1)
        half = (reach.high - reach.mean) * deviation
        held = np.abs(mean - MBPS) <= half
        throughout &= held
        ends = going & (2 * half <= 0.02 * mean)
        stopped[ends], stopped_at[ends] = held[ends], n
        going &= ~ends
    return throughout, stopped, float(stopped_at.mean())


def maxima(what: str, below: NDArray[np.float64], rng: np.random.Generator) -> Check:
    """The maximum over loads, whose means are so many standard deviations below the best."""
    means_mbps = MBPS * (1 + CV * below)
    held = []
    for _ in range(MAXIMUM_CAMPAIGNS):
        values = means_mbps * (1 + CV * rng.standard_normal((MAXIMUM_LOOKS, LOADS)))
        looks = [climb(dict(enumerate(values[:n].T.tolist())), {}) for n in range(4, MAXIMUM_LOOKS + 1)]
        held.append(all(_holds(look.interval.low, look.interval.high) for look in looks))
    return _check(f"the maximum, {what}, at every one of {MAXIMUM_LOOKS} repetitions", np.array(held), True)


def _holds(low: float | None, high: float | None) -> bool:
    return (low is None or low <= MBPS) and (high is None or high >= MBPS)


def _check(what: str, held: NDArray[np.bool_], asked: bool) -> Check:
    share, error = 100 * float(held.mean()), 200 * float(held.std()) / len(held) ** 0.5
    return Check(
        what,
        f"{share:.1f} ± {error:.1f}% of {len(held):,} held",
        "95% or more" if asked else "for comparison",
        share + error >= 95 or not asked,
    )
