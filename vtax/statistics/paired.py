"""Comparing two cells block by block.

A block is one repetition of every cell, run close together in time. Comparing within blocks takes out what
differs between them, such as the host's temperature or its neighbours (Box, Hunter and Hunter, Statistics
for Experimenters, 2nd edition, 2005, chapters 3 and 4). Values come as {block: value}; blocks that only one
side has are left out, and `n` of the interval says how many were compared.
"""

import math
from collections.abc import Mapping

from vtax.statistics.interval import CONFIDENCE, Interval, MeanInterval, exponential, mean_interval

ByBlock = Mapping[int, float]


def paired_difference(
    measured: ByBlock,
    reference: ByBlock,
    confidence: float = CONFIDENCE,
    mean: MeanInterval = mean_interval,
) -> Interval | None:
    """Return the mean of measured - reference with its interval; None where no block has both."""
    pairs = _pairs(measured, reference)
    if not pairs:
        return None
    return mean([value - base for value, base in pairs], confidence)


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
    the ratio of the sums, without bounds; None where the reference's sum is zero. ValueError for negative
    values.
    """
    pairs = _pairs(measured, reference)
    if any(value < 0 or base < 0 for value, base in pairs):
        raise ValueError(f"a ratio needs values of zero or more: {pairs!r}")
    total = sum(base for _, base in pairs)
    if total == 0:
        return None
    if any(value == 0 or base == 0 for value, base in pairs):
        return Interval(sum(value for value, _ in pairs) / total, None, None, len(pairs))
    logarithms = mean([math.log(value) - math.log(base) for value, base in pairs], confidence)
    if logarithms.low is None or logarithms.high is None:
        return Interval(math.exp(logarithms.mean), None, None, logarithms.n)
    return Interval(
        math.exp(logarithms.mean), math.exp(logarithms.low), exponential(logarithms.high), logarithms.n
    )


def _pairs(measured: ByBlock, reference: ByBlock) -> list[tuple[float, float]]:
    return [(measured[block], reference[block]) for block in sorted(measured.keys() & reference.keys())]
