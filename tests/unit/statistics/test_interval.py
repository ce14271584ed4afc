"""Intervals cover what they claim to cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vtax.statistics import Interval, mean_interval, proportion_interval

FINITE = st.floats(-1e9, 1e9)


def test_the_textbook_value() -> None:
    """Student's own sleep data (1908, drug 2 minus drug 1): 1.58 hours, 0.70 to 2.46."""
    found = mean_interval([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
    assert (found.mean, found.low, found.high) == pytest.approx((1.58, 0.7001142, 2.4598858))
    assert found.n == 10


def test_one_value_has_no_interval_and_equal_values_one_of_no_width() -> None:
    assert mean_interval([7.0]) == Interval(7.0, None, None, 1)
    assert mean_interval([7.0, 7.0, 7.0]) == Interval(7.0, 7.0, 7.0, 3)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_what_has_no_mean_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="a mean needs"):
        mean_interval(values)


@given(st.lists(FINITE, min_size=2, max_size=30), st.floats(0.5, 0.99))
def test_a_mean_lies_within_and_more_confidence_is_wider(values: list[float], confidence: float) -> None:
    narrow, wide = mean_interval(values, confidence), mean_interval(values, confidence + 0.005)
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low <= narrow.low <= narrow.mean <= narrow.high <= wide.high


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30), st.integers(-1000, 1000))
def test_a_shift_moves_the_interval(values: list[int], shift: int) -> None:
    here, there = mean_interval(values), mean_interval([value + shift for value in values])
    assert here.low is not None
    assert there.low is not None
    assert there.mean == pytest.approx(here.mean + shift, abs=1e-6)
    assert there.low == pytest.approx(here.low + shift, abs=1e-6)


@pytest.mark.parametrize("n", [3, 9])
def test_a_mean_interval_covers(n: int) -> None:
    """Of 2,000 intervals 95% hold the true mean, within four standard errors of that share."""
    rng = np.random.default_rng(20)
    found = [mean_interval(sample) for sample in rng.normal(100, 5, (2000, n)).tolist()]
    share = np.mean([x.low is not None and x.high is not None and x.low <= 100 <= x.high for x in found])
    assert abs(share - 0.95) < 4 * (0.95 * 0.05 / 2000) ** 0.5


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_proportion_interval_is_exact(case: tuple[int, int]) -> None:
    """At its bounds, a count so low or so high has probability 2.5% (Clopper and Pearson 1934)."""
    hits, n = case
    found = proportion_interval(hits, n)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.mean == hits / n <= found.high <= 1
    if hits > 0:
        assert stats.binom.sf(hits - 1, n, found.low) == pytest.approx(0.025, rel=1e-6)
    if hits < n:
        assert stats.binom.cdf(hits, n, found.high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_what_is_no_proportion_is_refused(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="a proportion needs"):
        proportion_interval(hits, n)
