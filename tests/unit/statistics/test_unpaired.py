"""Two sets of trials without common blocks, and families of such comparisons."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from vtax.statistics import compare, discoveries

TRIALS = st.lists(st.integers(1, 10**9).map(float), min_size=2, max_size=10)


def test_the_textbook_value() -> None:
    """Logarithms 1..5 against 2, 4 .. 10: Welch's t = -1.897 with 5.882 degrees of freedom, p = 0.1075."""
    found = compare(np.exp([1, 2, 3, 4, 5]).tolist(), np.exp([2, 4, 6, 8, 10]).tolist())
    assert np.log(found.ratio.mean) == pytest.approx(-3)
    assert found.ratio.low is not None
    assert found.ratio.high is not None
    assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx([-6.8884, 0.8884], abs=1e-3)
    assert found.p_value == pytest.approx(0.1075, abs=1e-3)
    assert found.ratio.n == 10


@given(
    st.lists(st.floats(1, 100), min_size=2, max_size=10), st.lists(st.floats(1, 100), min_size=2, max_size=10)
)
def test_it_is_the_librarys_test(a: list[float], b: list[float]) -> None:
    assume(min(np.std(np.log(a)), np.std(np.log(b))) > 1e-3)  # else the library warns of cancellation
    expected = stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
    found = compare(a, b)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)
    assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx(
        list(expected.confidence_interval(0.95))
    )


@given(TRIALS, TRIALS)
def test_swapping_the_sides_inverts_the_ratio_and_keeps_the_p_value(a: list[float], b: list[float]) -> None:
    there, back = compare(a, b), compare(b, a)
    assert there.ratio.mean == pytest.approx(1 / back.ratio.mean)
    assert there.p_value == pytest.approx(back.p_value)
    assert 0 <= there.p_value <= 1
    if there.ratio.low is not None and back.ratio.high is not None:
        assert there.ratio.low == pytest.approx(1 / back.ratio.high)


@given(TRIALS, TRIALS, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(a: list[float], b: list[float], factor: float) -> None:
    scaled = compare([factor * value for value in a], [factor * value for value in b])
    assert scaled.ratio.mean == pytest.approx(compare(a, b).ratio.mean)


def test_values_that_do_not_vary_leave_chance_unknown() -> None:
    """Three delays in one bucket and three in the next: one order of twenty, in either direction."""
    found = compare([12.02] * 3, [12.03] * 3)
    assert found.p_value == pytest.approx(2 / 20)
    assert (found.ratio.low, found.ratio.high) == (None, None)
    assert compare([5.0] * 3, [5.0] * 4).p_value == 1.0


def test_equal_values_are_no_discovery_however_many() -> None:
    """The mean of ten logarithms and that of eleven differ in their last digit."""
    found = compare([20.019264] * 10, [20.019264] * 11)
    assert (found.ratio.mean, found.p_value) == (1.0, 1.0)


def test_zeros_are_compared_as_they_are() -> None:
    found = compare([0.0, 0.0, 0.0], [5.0, 6.0, 7.0])
    assert (found.ratio.mean, found.ratio.low, found.ratio.high) == (0.0, None, None)
    assert found.p_value < 0.05


@pytest.mark.parametrize(
    ("a", "b"), [([1.0], [1.0, 2.0]), ([1.0, -1.0], [1.0, 2.0]), ([1.0, float("nan")], [1.0, 2.0])]
)
def test_what_cannot_be_compared_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="a comparison needs"):
        compare(a, b)


def test_a_reference_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="reference of zero"):
        compare([1.0, 2.0], [0.0, 0.0])


@pytest.mark.parametrize("n", [3, 5])
def test_equal_cells_differ_as_seldom_as_stated(n: int) -> None:
    """Of 1,000 comparisons of the same cell at most 5% find a difference, plus three standard errors."""
    rng = np.random.default_rng(31)
    trials = (900 * rng.lognormal(0, 0.02, (1000, 2, n))).tolist()
    found = np.mean([compare(a, b).p_value <= 0.05 for a, b in trials])
    assert 0.02 < found < 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def test_the_family_of_the_paper() -> None:
    """Benjamini and Hochberg 1995, table 1: of 15 comparisons of thrombolysis four are discoveries at 5%."""
    p_values = [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000),
    ]
    assert discoveries(p_values) == [True] * 4 + [False] * 11
    assert discoveries(p_values[::-1]) == [False] * 11 + [True] * 4
    assert discoveries([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_a_family_never_finds_more_than_its_members_alone(p_values: list[float]) -> None:
    found = discoveries(p_values)
    assert len(found) == len(p_values)
    assert all(p <= 0.05 for p, discovered in zip(p_values, found, strict=True) if discovered)


def test_families_without_a_difference_are_quiet() -> None:
    """Of 2,000 families of 20 equal cells 5% have any discovery, within four standard errors."""
    p_values = np.random.default_rng(32).uniform(size=(2000, 20)).tolist()
    share = np.mean([any(discoveries(family)) for family in p_values])
    assert abs(share - 0.05) < 4 * (0.05 * 0.95 / 2000) ** 0.5
