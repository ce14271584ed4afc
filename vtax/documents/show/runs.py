"""Runs of iterations: statistics of their rounds, and timing artifacts."""

from __future__ import annotations

from vtax.documents.base import Count, Estimate, Share
from vtax.documents.show.rows import Keyed, Placed


class Rounds(Keyed):
    """The rounds of a cell, all its runs together."""

    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""
    runs: Count
    """Runs with usable rounds."""
    rounds: Count
    """Rounds of all runs."""
    failed_ratio: Share | None
    """Share of the rounds that failed."""
    mean_ns: Estimate | None
    """Mean round, with its interval over the blocks."""
    deviation_ns: float | None
    """Standard deviation of all rounds."""
    min_ns: float | None
    """Shortest round."""
    p50_ns: float | None
    """Median; rounds that failed count as longer than any other."""
    p90_ns: float | None
    """Quantile of 90%, likewise."""
    p99_ns: float | None
    """Quantile of 99%, likewise; null of too few rounds."""
    p999_ns: float | None
    """Quantile of 99.9%, likewise."""
    max_ns: float | None
    """Longest round."""
    wall_s: Estimate | None
    """Wall time of a run."""
    timed_ratio: Estimate | None
    """Share of it that was timed (matthews2009, section 4.1)."""
    reference: str | None
    """Platform that it is compared with; null where that was not measured."""
    dispersion: Estimate | None
    """Standard deviation within a run over that of the reference's runs, geometric mean of the blocks' ratios."""
    dispersion_p: Share | None
    """Chance of one so far from 1 where both are the same."""


class Artifact(Placed):
    """A timing artifact in a cell's runs."""

    reference: str | None
    """Platform that the runs were compared with; null where that was not measured."""
    sentence: str
    """The artifact in a sentence."""
    p_value: Share | None
    """Chance of it where there is none; null where there was too little to look for it."""
