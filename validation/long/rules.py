"""Rules that say whether B is slower than A: those of `vtax ab`, and the one of Firecracker's `tools/ab_test.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np
import scipy

from validation.long.quads import Quad
from vtax.model.metrics import THROUGHPUT
from vtax.statistics import Change, proportion_interval, relative_change
from vtax.statistics.unpaired import FALSE_DISCOVERY_RATE

LEAST: Final = 3
"""Quads after which `vtax ab` first looks."""
RESAMPLES: Final = 9_999
SIGNIFICANCE: Final = 0.01
NOISE: Final = 0.05
"""Firecracker's defaults: the p value, and the least change of the mean that counts."""


def most_alarms(campaigns: int) -> int:
    """Return how many campaigns without a change may raise an alarm where 5% do, with chance allowed for."""
    return int(scipy.stats.binom.ppf(0.975, campaigns, FALSE_DISCOVERY_RATE))


def share_of(alarmed: int, campaigns: int) -> str:
    """Return how many raised an alarm, with the interval of their share, in words."""
    share = proportion_interval(alarmed, campaigns)
    return f"{alarmed} of {campaigns} ({share.mean:.0%}; {share.low:.0%} to {share.high:.0%})"


def bound_of_alarms(campaigns: int) -> str:
    """Return the same in words."""
    return f"at most {most_alarms(campaigns)} of {campaigns:,}: {FALSE_DISCOVERY_RATE:.0%}, with chance allowed for"


@dataclass(frozen=True)
class Found:
    """Whether a rule says that B is slower, and after how many quads it said what it says."""

    slower: bool
    quads: int


def by_turns(quads: Sequence[Quad]) -> Found:
    """Return what `vtax ab` finds of one cell by the rule that B may not be slower: it looks after every quad."""
    for seen in range(LEAST, len(quads) + 1):
        change = _change(quads[:seen], adaptive=True)
        if change.chance(0.0) <= FALSE_DISCOVERY_RATE:
            return Found(change.interval.mean < 0, seen)
    return Found(False, len(quads))


def fixed(quads: Sequence[Quad]) -> Found:
    """Return what `vtax ab --fixed` finds of one cell by the same rule: it looks once."""
    change = _change(quads, adaptive=False)
    beyond = change.interval.high is not None and change.interval.high < 0
    return Found(beyond and change.p_below(0.0) <= FALSE_DISCOVERY_RATE, len(quads))


def _change(quads: Sequence[Quad], *, adaptive: bool) -> Change:
    sides = ([fmean(quad.a_fps) for quad in quads], [fmean(quad.b_fps) for quad in quads])
    change = relative_change(*sides, resolution=THROUGHPUT.resolution, adaptive=adaptive, paired=True)
    if change is None:
        raise ValueError(f"no change of {len(quads)} quads, or of quads without a frame")
    return change


@dataclass(frozen=True)
class Permuted:
    """The permutation test of all trials of B against all of A, which pays no regard to quads."""

    change: float
    """Of the mean, as a share of A's."""
    p_value: float
    """Of a change of either sign."""

    @classmethod
    def of(cls, quads: Sequence[Quad], rng: np.random.Generator) -> "Permuted":
        """Test trials: the difference of the means against those of trials that are dealt out at random."""
        a, b = [fps for quad in quads for fps in quad.a_fps], [fps for quad in quads for fps in quad.b_fps]
        every = np.array([*a, *b])
        mean = float(np.mean(a))
        change = float(np.mean(b)) - mean
        dealt = rng.permuted(np.tile(every, (RESAMPLES, 1)), axis=1)
        differences = dealt[:, len(a) :].mean(axis=1) - dealt[:, : len(a)].mean(axis=1)
        # As scipy.stats.permutation_test has it: what was found counts among what might have been.
        below, above = (
            (1 + np.sum(each)) / (1 + RESAMPLES) for each in (differences <= change, differences >= change)
        )
        return cls(change / mean, min(1.0, 2 * float(min(below, above))))

    def slower(self, significance: float, noise: float) -> bool:
        """Whether B is slower, at this p value and by more than that share."""
        return self.p_value < significance and self.change < -noise
