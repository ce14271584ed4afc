"""Simulated campaigns of the shapes that machines make: ticks, equal values, collapses, modes, alike neighbours."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from validation.section import Check, Section
from vtax.model.estimate import Estimate, estimate
from vtax.model.sample import Sample
from vtax.statistics import (
    PER_MILLE,
    Centre,
    Interval,
    Resolution,
    adaptive_throughput,
    mean_interval,
    proportion_interval,
    relative_width,
    select_maximum,
    standing_apart,
)

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
SHOWN: Final = 95.0
DEVIATION: Final = 0.005
"""Of trials that do not collapse, and within a mode."""
LOADS: Final = (0.2, 0.5, 0.8, 0.9, 1.0, 1.0, 1.0, 0.97)

Values = NDArray[np.float64]

TEXT = """
Repetitions are not always normal and independent. CPU time comes in ticks, a value may come out the same every time,
and a repetition may be like the one before (an autoregressive process of order one). The intervals that are shown
hold the truth in 93% of such campaigns or more. None has no width. Where values are normal they are at most 1.5 times
as wide as Student's. *Where it stops* is the share of campaigns with `precision` whose interval holds the truth when
it is at most 5% wide, after ten repetitions or more, with the mean number of them. Ticks are 1.06% of a CPU; what a
trial spends varies by 5%, and where it begins within a tick by chance. Throughputs vary by 2% (CV), and are rounded
to a Mbit/s where it says so.

Of collapsing trials one in ten has 60% of what the others have, which vary by 0.5%; of two modes the upper one, of
three trials in ten, lies a quarter above. Where trials stand apart, five or fewer are all printed, and no interval is
shown; of more the median's is. Held are then the median of all trials, and else the mean of those in the main mode
([verdicts.md](verdicts.md#trials-that-stand-apart)). The share of collapsed trials has its exact binomial interval.
"""


def run(directory: Path) -> Section:
    """Simulate all; nothing is written to `directory`, a seed gives the same campaigns."""
    rng = np.random.default_rng(1_993)
    checks = [
        *(check for ticks in (0.3, 3.3) for n in (2, 3, 10) for check in cpu_time(ticks, n, rng)),
        *(rounded(n, rng) for n in (3, 10)),
        *(check for n in (3, 5, 10) for check in (normal_width(n, rng), normal_shown(n, rng))),
        *(stops(correlation, rng) for correlation in (0.0, 0.3, 0.5, 0.7)),
        equal_values(),
        *(collapses(n, rng) for n in (3, 5, 6, 10, 20)),
        *(collapses(n, rng, rounded=True) for n in (3, 10)),
        *(two_modes(n, rng) for n in (3, 6, 10)),
        *(collapsing_maximum(n, rng) for n in (3, 5, 7, 9)),
        collapsing_stops(rng),
        *(share_of_collapsed(n, rng) for n in (3, 10)),
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
        found = PER_MILLE.of_mean(adaptive_throughput(values[:n]))
        reached = relative_width(found)
        if reached is not None and reached <= WIDTH:
            break
    return found, n


def equal_values() -> Check:
    """How wide the interval of values is that do not differ."""
    found = relative_width(PER_MILLE.of_mean(adaptive_throughput([MBPS] * LEAST)))
    return Check(
        f"{LEAST} equal throughputs, width",
        f"{found or 0:.2%} of the mean",
        "more than 0",
        bool(found),
    )


def normal_shown(n: int, rng: np.random.Generator) -> Check:
    """How many samples of normal throughputs have an interval, and not all their values."""
    values = MBPS * (1 + 0.02 * rng.standard_normal((CAMPAIGNS, n)))
    shown = 100 * float(np.mean([not _sample(each, PER_MILLE).estimate().points for each in values.tolist()]))
    return Check(
        f"normal values, n = {n}: intervals shown",
        f"{shown:.1f}% of {CAMPAIGNS:,}",
        f"{SHOWN:g}% or more",
        shown >= SHOWN,
    )


def collapses(n: int, rng: np.random.Generator, *, rounded: bool = False) -> Check:
    """Trials of which one in ten collapses, in whole Mbit/s that hardly vary where they are `rounded`."""
    deviation = 0.0005 if rounded else DEVIATION
    values = _collapsing(rng, (CAMPAIGNS, n), deviation)
    what = f"one trial in ten collapses to 60%, {'in whole Mbit/s, ' if rounded else ''}n = {n}"
    found = [
        _sample(each, PER_MILLE).estimate() for each in (np.round(values) if rounded else values).tolist()
    ]
    return _shown(what, found, MBPS, MBPS * (1 + deviation * NormalDist().inv_cdf(4 / 9)))


def two_modes(n: int, rng: np.random.Generator) -> Check:
    """Trials of which three in ten are a quarter faster."""
    upper = np.where(rng.random((CAMPAIGNS, n)) < 0.3, 1.25, 1)
    values = MBPS * (1 + DEVIATION * rng.standard_normal((CAMPAIGNS, n))) * upper
    found = [_sample(each, PER_MILLE).estimate() for each in values.tolist()]
    return _shown(f"two modes, n = {n}", found, MBPS, MBPS * (1 + DEVIATION * NormalDist().inv_cdf(5 / 7)))


def collapsing_maximum(n: int, rng: np.random.Generator) -> Check:
    """The maximum over eight loads, three of them equally good, of which one trial in ten collapses."""
    found = []
    for values in _collapsing(rng, (STOPPING, n, len(LOADS)), DEVIATION) * LOADS:
        selected = select_maximum(
            {load: dict(enumerate(column)) for load, column in enumerate(values.T.tolist())},
            share=PER_MILLE.share,
        )
        assert selected is not None  # noqa: S101 - there are values
        found.append(estimate(PER_MILLE.of_mean(selected.interval), 0.0))
    return _shown(
        f"maximum over loads of which one trial in ten collapses, n = {n}",
        found,
        MBPS,
        MBPS * (1 + DEVIATION * NormalDist().inv_cdf(4 / 9)),
    )


def collapsing_stops(rng: np.random.Generator) -> Check:
    """Whether the interval holds where `precision` stops though one trial in ten collapses."""
    stopped = [_stopped(values) for values in _collapsing(rng, (STOPPING, LOOKS), DEVIATION)]
    return _shown(
        f"precision, one trial in ten collapses, where it stops, n = {np.mean([n for _, n in stopped]):.1f}",
        [estimate(found, 0.0) for found, _ in stopped],
        MBPS,
        MBPS * (1 + DEVIATION * NormalDist().inv_cdf(4 / 9)),
    )


def share_of_collapsed(n: int, rng: np.random.Generator) -> Check:
    """The share of trials that collapse, by the trials that stand apart."""
    apart = [standing_apart(each, 0.001 * MBPS) for each in _collapsing(rng, (CAMPAIGNS, n), DEVIATION)]
    found = [proportion_interval(each, n) for each in apart]
    return _of_shares(
        f"share of trials that collapse, one in ten, n = {n}",
        np.array([_holds(each.low, each.high, 0.1) for each in found]),
    )


def _collapsing(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> Values:
    values = MBPS * (1 + deviation * rng.standard_normal(shape))
    return np.asarray(values * np.where(rng.random(shape) < 0.1, 0.6, 1))


def _shown(what: str, found: Sequence[Estimate], main: float, median: float) -> Check:
    """Whether those that are shown hold the main mode's mean, or the median where that stands for all."""
    shown = [each for each in found if each.has_interval and not each.points]
    held = [_holds(each.low, each.high, median if each.centre is Centre.MEDIAN else main) for each in shown]
    share = f"{len(shown) / len(found):.0%} shown"
    return _of_shares(f"{what}, {share}", np.array(held))


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


def _of_shares(what: str, held: NDArray[np.bool_]) -> Check:
    share, error = 100 * float(held.mean()), 200 * float(held.std()) / len(held) ** 0.5
    return Check(
        what,
        f"{share:.1f} ± {error:.1f}% of {len(held):,} held",
        f"{HELD:g}% or more",
        share + error >= HELD,
    )
