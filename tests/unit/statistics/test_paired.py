"""Comparisons within blocks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.statistics import (
    Interval,
    compare,
    mean_interval,
    paired_difference,
    paired_ratio,
    ratio_of_maxima,
    relative_change,
)

POSITIVE = st.floats(1e-3, 1e9)
BLOCKS = st.dictionaries(st.integers(0, 20), POSITIVE, max_size=12)


@given(BLOCKS, BLOCKS)
def test_blocks_that_one_side_lacks_are_left_out(
    measured: dict[int, float], reference: dict[int, float]
) -> None:
    both = measured.keys() & reference.keys()
    ratio, difference = paired_ratio(measured, reference), paired_difference(measured, reference)
    if not both:
        assert ratio is None
        assert difference is None
        return
    assert ratio is not None
    assert difference is not None
    assert ratio.n == difference.n == len(both)
    assert ratio == paired_ratio({b: measured[b] for b in both}, {b: reference[b] for b in both})


@given(BLOCKS, BLOCKS)
def test_swapping_the_sides_inverts_a_ratio(measured: dict[int, float], reference: dict[int, float]) -> None:
    there, back = paired_ratio(measured, reference), paired_ratio(reference, measured)
    if there is None or back is None:
        assert there is back
        return
    assert there.mean == pytest.approx(1 / back.mean, rel=1e-6)
    if there.low is not None and there.high is not None:
        assert back.low is not None
        assert 0 < there.low <= there.mean * (1 + 1e-9)
        assert there.high == pytest.approx(1 / back.low, rel=1e-6)


@given(BLOCKS.filter(bool), st.floats(0.01, 100))
def test_what_blocks_share_cancels(reference: dict[int, float], factor: float) -> None:
    """However different the blocks are, a platform that always takes the same share has an exact ratio."""
    found = paired_ratio({block: factor * value for block, value in reference.items()}, reference)
    assert found is not None
    assert found.mean == pytest.approx(factor, rel=1e-9)
    if found.low is not None:
        assert (found.low, found.high) == pytest.approx((factor, factor), rel=1e-6)


def test_a_zero_gives_a_ratio_without_bounds() -> None:
    assert paired_ratio({0: 0.0, 1: 0.0}, {0: 5.0, 1: 7.0}) == Interval(0.0, None, None, 2)
    assert paired_ratio({0: 0.0, 1: 6.0}, {0: 5.0, 1: 7.0}) == Interval(0.5, None, None, 2)
    assert paired_ratio({0: 4.0, 1: 6.0}, {0: 0.0, 1: 0.0}) is None
    with pytest.raises(ValueError, match="zero or more"):
        paired_ratio({0: -1.0}, {0: 5.0})


def test_paired_intervals_cover_and_are_narrower_than_unpaired_ones() -> None:
    """Blocks drift by 10%, trials by 1%: 95% hold the true 0.8, within four standard errors of 1,000."""
    rng = np.random.default_rng(3)
    covered, paired_width, unpaired_width = [], [], []
    for _ in range(1000):
        drift = rng.lognormal(0, 0.1, 5)
        raw = 900 * drift * rng.lognormal(0, 0.01, 5)
        container = 720 * drift * rng.lognormal(0, 0.01, 5)
        found = paired_ratio(dict(enumerate(container)), dict(enumerate(raw)))
        alone = mean_interval((container / 900).tolist())
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert alone.low is not None
        assert alone.high is not None
        covered.append(found.low <= 0.8 <= found.high)
        paired_width.append(found.high - found.low)
        unpaired_width.append(alone.high - alone.low)
    assert abs(np.mean(covered) - 0.95) < 4 * (0.95 * 0.05 / 1000) ** 0.5
    assert np.mean(paired_width) < np.mean(unpaired_width) / 3


def test_a_bound_that_no_number_holds_is_infinite() -> None:
    measured, reference = {0: 1.0, 1: 1.0}, {0: 1.0, 1: 1e-233}
    for found in (
        paired_ratio(measured, reference),
        ratio_of_maxima({"load": measured}, {"load": reference}),
        compare(list(measured.values()), list(reference.values())).ratio,
    ):
        assert found is not None
        assert found.high == math.inf
    shift = relative_change([1.0, 1e-233], [1.0, 1.0])
    assert shift is not None
    assert shift.interval.high == math.inf


def test_a_ratio_that_no_number_holds_is_infinite() -> None:
    ratio = paired_ratio({0: 1.0}, {0: 5e-324})
    assert ratio is not None
    assert ratio.mean == math.inf
