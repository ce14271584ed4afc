"""Jain's index and the fair share, by their properties and by numbers that can be checked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.statistics import fair_share, jain_index

amounts = st.just(0.0) | st.floats(1e-9, 1e12)
shares = st.lists(amounts, min_size=1, max_size=16).filter(any)


def index(values: list[float]) -> float:
    found = jain_index(values)
    assert found is not None
    return found


@given(shares)
def test_the_index_lies_between_one_nth_and_one(values: list[float]) -> None:
    assert 1 / len(values) * (1 - 1e-12) <= index(values) <= 1 + 1e-12


@given(shares, st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(values: list[float], factor: float) -> None:
    assert index([value * factor for value in values]) == pytest.approx(index(values), rel=1e-9)


@given(st.floats(1e-12, 1e12), st.integers(1, 16))
def test_equal_shares_are_fair(value: float, count: int) -> None:
    assert index([value] * count) == pytest.approx(1, abs=1e-12)


@given(st.floats(1e-6, 1e6), st.integers(1, 15), st.floats(1e-3, 1))
def test_unequal_shares_are_not(value: float, count: int, more: float) -> None:
    assert index([value] * count + [value * (1 + more)]) < 1 - 1e-9


@given(st.integers(1, 8), st.integers(0, 8))
def test_of_those_who_have_the_same_the_others_leave_their_share(served: int, starved: int) -> None:
    assert index([5.0] * served + [0.0] * starved) == pytest.approx(served / (served + starved))


@given(shares)
def test_fair_shares_have_the_same_sum(values: list[float]) -> None:
    assert fair_share(values) * len(values) == pytest.approx(math.fsum(values))


def test_numbers_checked_by_hand() -> None:
    assert jain_index([1, 2, 3]) == pytest.approx(36 / (3 * 14))
    assert fair_share([1, 2, 3]) == 2
    assert jain_index([0.0, 0.0]) is None
    assert jain_index([1e-200, 1e-200]) == pytest.approx(1)
    assert jain_index([1e200, 0]) == pytest.approx(0.5)


@pytest.mark.parametrize("values", [[], [-1.0, 1.0], [math.nan], [math.inf, 1.0]])
def test_what_is_no_share_is_refused(values: list[float]) -> None:
    for function in (jain_index, fair_share):
        with pytest.raises(ValueError, match="fairness is of one share at least"):
            function(values)
