"""Changes beyond a tolerance: known values, what holds of any, and how often nothing is called something."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vtax.statistics import absolute_change, compare, discoveries, proportion_interval, relative_change

TRIALS = st.lists(st.integers(1, 10**6).map(float), min_size=2, max_size=8)


def test_it_is_welchs_interval_of_the_logarithms() -> None:
    a, b = [100.0, 102.0, 99.0, 103.0], [90.0, 91.0, 88.0]
    found, known = relative_change(a, b), compare(b, a)
    assert found is not None and found.interval.n == 7
    assert found.interval.mean == pytest.approx(known.ratio.mean - 1)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (known.ratio.low - 1, known.ratio.high - 1)
    )
    assert found.p_beyond(0.0, 0.0) == pytest.approx(known.p_value)


def test_a_difference_is_the_librarys() -> None:
    a, b = [0.01, 0.03, 0.02], [0.08, 0.09, 0.06]
    found = absolute_change(a, b)
    expected = stats.ttest_ind(b, a, equal_var=False)
    assert found is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        tuple(expected.confidence_interval(0.95))
    )
    assert found.p_beyond(0.0, 0.0) == pytest.approx(expected.pvalue)


@settings(max_examples=40)
@given(TRIALS, TRIALS, st.floats(0, 0.5), st.booleans())
def test_what_holds_of_any_change(a: list[float], b: list[float], bound: float, adaptive: bool) -> None:
    found = relative_change(a, b, adaptive=adaptive)
    assert found is not None
    assert 0 <= found.p_beyond(-bound, bound) <= 1
    assert max(found.p_above(bound), found.p_below(bound)) == 1
    interval = found.interval
    if interval.low is not None and interval.high is not None:
        assert interval.low <= interval.mean <= interval.high
        if interval.low <= bound <= interval.high and interval.low < interval.high:
            assert min(found.p_above(bound), found.p_below(bound)) >= 0.0249


def test_a_tolerance_makes_it_harder_to_find_a_change() -> None:
    found = relative_change([100.0, 101.0, 102.0], [92.0, 93.0, 94.0])
    assert found is not None
    chances = [found.p_beyond(-bound, bound) for bound in (0.0, 0.02, 0.05, 0.2)]
    assert chances == sorted(chances) and chances[0] < 0.01 and chances[-1] == 1


def test_zeros_count_as_shares_of_the_reference() -> None:
    found = relative_change([100.0, 101.0, 99.0], [0.0, 0.0, 0.0])
    assert found is not None and found.interval.mean == -1
    assert found.interval.high is not None and found.interval.high < -0.9
    assert relative_change([0.0, 0.0], [1.0, 2.0]) is None


def test_values_that_do_not_vary_are_as_wide_as_their_steps() -> None:
    found = relative_change([10.0] * 3, [10.0] * 3, resolution=1 / 128)
    assert found is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((-1 / 128, 1 / 128), rel=0.01)
    other = relative_change([10.0] * 3, [12.0] * 3)
    assert other is not None and other.p_above(0.05) == pytest.approx(1 / 20)


def test_values_that_do_not_vary_tell_more_than_ones_that_nearly_do_not() -> None:
    """As any that lie within one step of their counter may: none is farther from its neighbour than the step."""
    constant = relative_change([50.0] * 3, [45.0] * 3, resolution=0.001)
    nearly = relative_change([50.0, 50.0, 50.01], [45.0, 45.01, 45.0], resolution=0.001)
    assert constant is not None and nearly is not None
    assert constant.p_below(-0.05) < 1e-3
    assert nearly.p_below(-0.05) < 1e-3
    beside = relative_change([50.0] * 3, [49.94] * 3, resolution=0.001)
    assert beside is not None and beside.p_below(0.0) > 0.025


def test_intervals_of_adaptive_values_are_wider_and_agree_with_their_p_values() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.lognormal(math.log(mean), 0.02, 8).tolist() for mean in (100, 90))
    plain, adaptive = relative_change(a, b), relative_change(a, b, adaptive=True)
    assert plain is not None and adaptive is not None and adaptive.interval.high is not None
    assert adaptive.interval.high > (plain.interval.high or 0)
    assert adaptive.p_below(adaptive.interval.high) == pytest.approx(0.05, abs=1e-4)


def test_too_little_or_wrong_values() -> None:
    assert relative_change([1.0], [1.0, 2.0]) is None
    assert absolute_change([], [1.0, 2.0]) is None
    with pytest.raises(ValueError, match="zero or more"):
        relative_change([-1.0, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        absolute_change([math.nan, 1.0], [1.0, 2.0])


@pytest.mark.parametrize(("true", "tolerance"), [(0.0, 0.0), (0.05, 0.05)])
def test_families_of_comparisons_that_find_anything_wrongly_are_few(true: float, tolerance: float) -> None:
    """No cell changed by more than the tolerance: of 100 families of 40, those with a discovery are 5% or fewer."""
    rng = np.random.default_rng(11)
    families, cells, false = 100, 40, 0
    for _ in range(families):
        p_values = []
        for _ in range(cells):
            a, b = rng.normal(0, 0.03, 5), rng.normal(math.log1p(true), 0.03, 5)
            found = relative_change(np.exp(a).tolist(), np.exp(b).tolist())
            assert found is not None
            p_values.append(found.p_beyond(-tolerance, tolerance))
        false += any(discoveries(p_values))
    least = proportion_interval(false, families).low
    assert least is not None and least <= 0.05
