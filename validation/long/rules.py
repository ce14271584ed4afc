"""Rules that say whether B is slower than A: those of `vtax ab`, and the one of Firecracker's `tools/ab_test.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from validation.long.quads import Quad
from vtax.statistics.anytime import anytime_chance
from vtax.statistics.unpaired import FALSE_DISCOVERY_RATE

LEAST: Final = 3
"""Quads after which `vtax ab` first looks."""
RESAMPLES: Final = 9_999
SIGNIFICANCE: Final = 0.01
NOISE: Final = 0.05
"""Firecracker's defaults: the p value, and the least change of the mean that counts."""

Changes = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """Whether a rule says that B is slower, and after how many quads it said what it says."""

    slower: bool
    quads: int


def changes_of(quads: Sequence[Quad]) -> Changes:
    """Return the logarithm of what B carries over what A does, quad by quad."""
    return np.array([np.log(sum(quad.b_fps) / sum(quad.a_fps)) for quad in quads])


def by_turns(changes: Changes) -> Found:
    """Return what `vtax ab` finds of one cell by the rule that B may not be slower: it looks after every quad."""
    for quads in range(LEAST, len(changes) + 1):
        seen = changes[:quads]
        away = np.asarray(seen.mean() / seen.std(ddof=1))
        if float(anytime_chance(quads, away)) <= FALSE_DISCOVERY_RATE:
            return Found(bool(away < 0), quads)
    return Found(False, len(changes))


def fixed(changes: Changes) -> Found:
    """Return what `vtax ab --fixed` finds of one cell by the same rule: it looks once, at Student's t."""
    n = len(changes)
    t = float(changes.mean() / changes.std(ddof=1)) * n**0.5
    return Found(bool(scipy.special.stdtr(n - 1, t) <= FALSE_DISCOVERY_RATE), n)


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
