"""Samples as detectors see them: durations, and how slow each is among those of its run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

Samples = NDArray[np.float64]
"""Durations in ns of shape (runs, iterations), NaN where an iteration failed."""


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one platform; runs of which nothing succeeded are left out.

    `ns` is of shape (runs, iterations), NaN where an iteration failed; `failed` counts these, with those of the runs
    left out.
    """

    ns: Samples
    failed: int

    @classmethod
    def of(cls, samples: Samples) -> "Series":
        """Take samples in. ValueError unless they are (runs, iterations) and finite, or NaN where one failed."""
        ns = np.asarray(samples, dtype=float)
        if ns.ndim != 2 or np.isinf(ns).any():
            raise ValueError(
                f"samples are (runs, iterations), finite or NaN: shape {ns.shape}, {np.isinf(ns).sum()} infinite"
            )
        missing = np.isnan(ns)
        return cls(ns[~missing.all(axis=1)], int(missing.sum()))

    @property
    def runs(self) -> int:
        """How many runs have a sample."""
        return len(self.ns)

    @property
    def iterations(self) -> int:
        """How many iterations a run has, failed ones too."""
        return int(self.ns.shape[1])

    @cached_property
    def values(self) -> Samples:
        """All samples of all runs, ascending, of shape (samples,)."""
        return np.sort(self.ns[~np.isnan(self.ns)])

    @cached_property
    def ranks(self) -> Samples:
        """Rank of each iteration within its run, from 0 to 1: (runs, iterations); 1/2 where it failed.

        Ranks are the same in any unit and wherever the run as a whole lies, and a stray value is one rank.
        """
        missing = np.isnan(self.ns)
        ranks = scipy.stats.rankdata(np.where(missing, np.inf, self.ns), axis=1)
        within = (ranks - 0.5) / np.maximum((~missing).sum(axis=1, keepdims=True), 1)
        return np.where(missing, 0.5, within)

    @cached_property
    def places(self) -> Samples:
        """Rank of each iteration among those of all runs, from 0 to 1: (runs, iterations), NaN where it failed."""
        ranks = scipy.stats.rankdata(np.where(np.isnan(self.ns), np.inf, self.ns)).reshape(self.ns.shape)
        return np.where(np.isnan(self.ns), np.nan, (ranks - 0.5) / max(1, len(self.values)))

    @cached_property
    def slowness(self) -> Samples:
        """Savage's scores of the ranks, -log(1 - rank): of mean 1, and the more apart the slower."""
        scores: Samples = -np.log1p(-self.ranks)
        scores[np.isnan(self.ns)] = 1
        return scores

    def units(self, least: int, values: int) -> Samples | None:
        """Return what may be taken as independent of each other: runs, or pieces of them where runs are too few.

        Of shape (units, iterations of each): at least `least` units of `values` iterations, of which half as many
        succeeded; None where there are not so many.
        """
        pieces = -(-least // self.runs) if self.runs else 1
        length = self.iterations // pieces
        if not self.runs or length < values:
            return None
        units = self.ns[:, : pieces * length].reshape(self.runs * pieces, length)
        units = units[(~np.isnan(units)).sum(axis=1) >= values / 2]
        return units if len(units) >= least else None
