"""Comparing two cells block by block.

A block is one repetition of every cell, run close together in time. Comparing within blocks takes out what
differs between them, such as the host's temperature or its neighbours (Box, Hunter and Hunter, Statistics
for Experimenters, 2nd edition, 2005, chapters 3 and 4). Values come as {block: value}; blocks that only one
side has are left out, and `n` of the interval says how many were compared.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vtax.statistics.interval import CONFIDENCE, Centre, Interval, MeanInterval, exponential, mean_interval

ByBlock = Mapping[int, float]

_BEYOND: Final = 700.0
"""No logarithm of a ratio: that of nothing, or over nothing."""


def paired_difference(
    measured: ByBlock,
    reference: ByBlock,
    confidence: float = CONFIDENCE,
    mean: MeanInterval = mean_interval,
) -> Interval | None:
    """Return the mean of measured - reference with its interval; None where no block has both."""
    pairs = in_pairs(measured, reference)
    if not len(pairs):
        return None
    return mean(pairs[:, 0] - pairs[:, 1], confidence)


def paired_ratio(
    measured: ByBlock,
    reference: ByBlock,
    confidence: float = CONFIDENCE,
    mean: MeanInterval = mean_interval,
) -> Interval | None:
    """Return the geometric mean of measured / reference with its interval; None where there is none.

    The interval of the logarithms' mean, Student's unless another is given, transformed back, so that swapping
    the sides inverts the result and no bound is negative (Fleming and Wallace 1986 on why ratios are averaged
    this way).

    A zero has no logarithm. Where some value is zero, as when a platform forwards nothing, the result is
    the ratio of the sums, without bounds, unless a median stands for all, which needs no logarithm of what stands
    apart; None where the reference's sum is zero. ValueError for negative values.
    """
    pairs = in_pairs(measured, reference)
    if (pairs < 0).any():
        raise ValueError(f"a ratio needs values of zero or more: {pairs.tolist()!r}")
    measured_sum, total = pairs.sum(axis=0)
    if total == 0:
        return None
    if pairs.all():
        return mean(np.log(pairs[:, 0]) - np.log(pairs[:, 1]), confidence).through(exponential)
    sums = Interval(float(measured_sum / total), None, None, len(pairs))
    if not pairs.any(axis=1).all():
        return sums
    with np.errstate(divide="ignore"):
        logarithms = np.clip(np.log(pairs[:, 0]) - np.log(pairs[:, 1]), -_BEYOND, _BEYOND)
    found = mean(logarithms, confidence)
    return found.through(_ratio_of) if found.centre is Centre.MEDIAN else sums


def _ratio_of(logarithm: float) -> float:
    return 0.0 if logarithm <= -_BEYOND else math.inf if logarithm >= _BEYOND else math.exp(logarithm)


def in_pairs(measured: ByBlock, reference: ByBlock) -> NDArray[np.float64]:
    """Return the values of the blocks that both have, in their order: (blocks, 2)."""
    sides = measured, reference
    if list(measured) == list(reference):  # as nearly always, and then there is nothing to look up
        return np.stack([np.fromiter(side.values(), float, len(side)) for side in sides], axis=1)[
            np.argsort(np.fromiter(measured, np.int64, len(measured)), kind="stable")
        ]
    both = sorted(measured.keys() & reference.keys())
    return np.array([[side[block] for side in sides] for block in both], dtype=float).reshape(-1, 2)
