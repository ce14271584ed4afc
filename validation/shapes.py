"""Simulated campaigns of the shapes that machines make: ticks, equal values, repetitions like the one before."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from validation.section import Check, Section
from vtax.model.sample import Sample
from vtax.statistics import PER_MILLE, Interval, Resolution, adaptive_interval, mean_interval, relative_width
from vtax.statistics.interval import CONFIDENCE

CAMPAIGNS: Final = 2_000
STOPPING: Final = 500
"""Campaigns that look at their intervals after every repetition: each look costs one."""
LEAST: Final = 10
LOOKS: Final = 100
MBPS: Final = 900.0
TICK: Final = 1.06
WIDTH: Final = 0.05
HELD: Final = 93.0
WIDEST: Final = 1.5

Values = NDArray[np.float64]

TEXT = """
Repetitions are not always normal and independent. CPU time comes in ticks, a value may come out the same every time,
and a repetition may be like the one before (an autoregressive process of order one). The intervals that are shown
hold the truth in 93% of such campaigns or more. None has no width. Where values are normal they are at most 1.5 times
as wide as Student's. *Where it stops* is the share of campaigns with `precision` whose interval holds the truth when
it is at most 5% wide, after ten repetitions or more, with the mean number of them. Ticks are 1.06% of a CPU; what a
trial spends varies by 5%, and where it begins within a tick by chance. Throughputs vary by 2% (CV), and are rounded
to a Mbit/s where it says so.

One trial in ten that collapses to 60%, of others that vary by 0.5%, is for comparison: few repetitions seldom have
one, and then nothing in them tells of it.
"""


def run(directory: Path) -> Section:
    """Simulate all; nothing is written to `directory`, a seed gives the same campaigns."""
    rng = np.random.default_rng(1_993)
    checks = [
        *(check for ticks in (0.3, 3.3) for n in (2, 3, 10) for check in cpu_time(ticks, n, rng)),
        *(rounded(n, rng) for n in (3, 10)),
        *(normal_width(n, rng) for n in (3, 5, 10)),
        *(stops(correlation, rng) for correlation in (0.0, 0.3, 0.5, 0.7)),
        equal_values(),
        *(collapses(n, rng) for n in (3, 10)),
    ]
    return Section("Shapes that machines make", TEXT, tuple(checks))


def cpu_time(ticks: float, n: int, rng: np.random.Generator) -> list[Check]:
    """CPU time of so many ticks in the mean, and what a tenth more of it adds."""

    def counted(mean: float) -> list[Sample]:
        spent = mean * (1 + 0.05 * rng.standard_normal((CAMPAIGNS, n)))
        values = TICK * np.floor(spent + rng.random((CAMPAIGNS, n)))
        return [_sample(each, Resolution(step=TICK)) for each in values.tolist()]

    own, more = counted(ticks), counted(1.1 * ticks)
    added = [two.difference(one) for one, two in zip(own, more, strict=True)]
    what = f"CPU time of {ticks:g} ticks, n = {n}"
    return [
        _check(what, [each.interval() for each in own], TICK * ticks),
        _check(
            f"{what}: a tenth more", [(each.low, each.high) for each in added if each], 0.1 * TICK * ticks
        ),
    ]


def rounded(n: int, rng: np.random.Generator) -> Check:
    """Throughputs that hardly vary, in whole Mbit/s."""
    means = MBPS + rng.random((CAMPAIGNS, 1))
    values = np.floor(means + 0.1 * rng.standard_normal((CAMPAIGNS, n))) + 0.5
    found = [_sample(each, PER_MILLE).interval() for each in values.tolist()]
    held = [_holds(each.low, each.high, mean) for each, mean in zip(found, means[:, 0].tolist(), strict=True)]
    return _of_shares(f"throughput that varies by 0.1 Mbit/s, in whole ones, n = {n}", np.array(held))


def normal_width(n: int, rng: np.random.Generator) -> Check:
    """How wide the intervals of normal throughputs are over Student's."""
    values = MBPS * (1 + 0.02 * rng.standard_normal((CAMPAIGNS, n)))
    ratios = [
        (relative_width(_sample(each, PER_MILLE).interval()) or 0)
        / (relative_width(mean_interval(each)) or 1)
        for each in values.tolist()
    ]
    wide = float(np.quantile(ratios, 0.95))
    return Check(
        f"normal values, n = {n}: width over Student's, 95% of campaigns",
        f"at most {wide:.2f} of {CAMPAIGNS:,}",
        f"at most {WIDEST:g}",
        wide <= WIDEST,
    )


def stops(correlation: float, rng: np.random.Generator) -> Check:
    """Whether the interval holds where `precision` stops."""
    noise = rng.standard_normal((STOPPING, LOOKS))
    for place in range(1, LOOKS):
        noise[:, place] = correlation * noise[:, place - 1] + math.sqrt(1 - correlation**2) * noise[:, place]
    held, taken = [], []
    for values in MBPS * (1 + 0.02 * noise):
        found, n = _stopped(values)
        held.append(_holds(found.low, found.high, MBPS))
        taken.append(n)
    what = f"precision, autocorrelation {correlation:g}, where it stops, n = {np.mean(taken):.1f}"
    return _of_shares(what, np.array(held))


def _stopped(values: Values) -> tuple[Interval, int]:
    """The interval that is narrow enough, or the last."""
    for n in range(LEAST, LOOKS + 1):
        found = PER_MILLE.of_mean(adaptive_interval(values[:n], CONFIDENCE))
        reached = relative_width(found)
        if reached is not None and reached <= WIDTH:
            break
    return found, n


def equal_values() -> Check:
    """How wide the interval of values is that do not differ."""
    found = relative_width(PER_MILLE.of_mean(adaptive_interval([MBPS] * LEAST)))
    return Check(
        f"{LEAST} equal throughputs, width",
        f"{found or 0:.2%} of the mean",
        "more than 0",
        bool(found),
    )


def collapses(n: int, rng: np.random.Generator) -> Check:
    """The mean of trials of which one in ten collapses."""
    collapsed = rng.random((CAMPAIGNS, n)) < 0.1
    values = MBPS * (1 + 0.005 * rng.standard_normal((CAMPAIGNS, n))) * np.where(collapsed, 0.6, 1)
    found = [_sample(each, PER_MILLE).interval() for each in values.tolist()]
    held = np.array([_holds(each.low, each.high, 0.96 * MBPS) for each in found])
    return _of_shares(f"one trial in ten collapses to 60%, n = {n}", held, asked=False)


def _sample(values: Sequence[float], resolution: Resolution) -> Sample:
    return Sample(values=dict(enumerate(values)), recorded=len(values), invalid=0, resolution=resolution)


def _check(what: str, found: Sequence[Interval | tuple[float | None, float | None]], truth: float) -> Check:
    ends = [(each.low, each.high) if isinstance(each, Interval) else each for each in found]
    return _of_shares(what, np.array([_holds(low, high, truth) for low, high in ends]))


def _holds(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval holds the truth: one of no width never does, and one without bounds is not shown."""
    if low is None or high is None:
        return True
    return low < high and low <= truth <= high


def _of_shares(what: str, held: NDArray[np.bool_], *, asked: bool = True) -> Check:
    share, error = 100 * float(held.mean()), 200 * float(held.std()) / len(held) ** 0.5
    return Check(
        what,
        f"{share:.1f} ± {error:.1f}% of {len(held):,} held",
        f"{HELD:g}% or more" if asked else "for comparison",
        share + error >= HELD or not asked,
    )
