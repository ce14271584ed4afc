"""What values lie around at every number of them, though some stand apart."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.statistics import anytime_interval, relative_change
from vtax.statistics.centre import centre_chance, centre_distance, centre_interval

VALUES = st.lists(st.integers(-1000, 1000).map(float), min_size=3, max_size=30).map(np.array)
LOOKS = 40


@given(VALUES, st.floats(0.001, 0.2), st.floats(-1500, 1500))
def test_what_is_excluded_has_a_chance_of_less_than_the_miss(
    values: np.ndarray, miss: float, candidate: float
) -> None:
    """And what is not excluded a chance of more, but where the interval was widened to mean and median."""
    found = centre_interval(values, miss)
    chance = float(centre_chance(values, candidate))
    if found is None:
        assert chance > miss * (1 - 1e-9)
    elif not found[0] <= candidate <= found[1]:
        assert chance <= miss * (1 + 1e-9)


@given(VALUES)
def test_it_holds_mean_and_median_and_is_wider_for_a_smaller_miss(values: np.ndarray) -> None:
    found = centre_interval(values, 0.05)
    if found is None:
        assert len(values) < 4
        return
    for centre in (values.mean(), np.median(values)):
        assert found[0] <= centre <= found[1]
        assert centre_chance(values, float(centre)) == 1
    if wider := centre_interval(values, 0.01):
        assert wider[0] <= found[0] <= found[1] <= wider[1]


@given(VALUES, st.integers(-5, 5), st.sampled_from([-4.0, -0.5, 0.25, 2.0]))
def test_it_moves_and_grows_with_the_values(values: np.ndarray, shift: int, factor: float) -> None:
    found, moved = centre_interval(values, 0.05), centre_interval(factor * (values + shift), 0.05)
    if found is None or moved is None:
        assert found is moved
        return
    ends = sorted(factor * (end + shift) for end in found)
    assert list(moved) == pytest.approx(ends, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("shape", ["normal", "of one in ten six times the scatter", "of heavy tails"])
def test_whoever_looks_after_each_value_is_seldom_misled(shape: str) -> None:
    """Of samples around zero at most 5% exclude it at any of so many looks, with chance allowed for."""
    rng = np.random.default_rng(35)
    values = rng.standard_normal((1_000, LOOKS))
    if shape == "of heavy tails":
        values = rng.standard_t(2, values.shape)
    elif shape != "normal":
        values *= np.where(rng.random(values.shape) < 0.1, 6.0, 1.0)
    misled = np.zeros(len(values), dtype=bool)
    for n in range(3, LOOKS + 1):
        misled |= centre_chance(values[:, :n], 0.0) <= 0.05
    assert misled.mean() <= 0.065


def test_two_that_stand_apart_do_not_hide_the_others() -> None:
    """Eighteen of twenty are 8% less; two are 40% more. A t-test alone cannot tell them from none."""
    values = np.array([-0.08 + 0.001 * (at % 5) for at in range(18)] + [0.4, 0.4])
    alone = anytime_interval(values.tolist())
    assert alone.high is not None and alone.high > 0
    found = centre_interval(values, 0.05)
    assert found is not None and found[1] < 0
    change = relative_change([1.0] * 20, np.exp(values).tolist(), adaptive=True, paired=True)
    assert change is not None and change.interval.high is not None
    assert change.interval.high < 0 and change.p_below(0.0) < 0.05


def test_one_alone_so_far_out_that_it_moves_the_mean_across_leaves_it_undecided() -> None:
    values = np.array([-0.08] * 11 + [3.0])
    found = centre_interval(values, 0.05)
    assert found is not None and found[0] == -0.08 and found[1] >= values.mean() > 0


@pytest.mark.parametrize("level", [829.2563, 829.426, 100.0, 1 / 3])
def test_a_change_within_a_step_of_the_values_is_none_however_equal_they_are(level: float) -> None:
    """What rounding leaves of equal changes is no evidence."""
    for a in (829.426, 100.01, 0.3333):
        change = relative_change(
            [a] * 3, [level] * 3, resolution=abs(math.log(level / a)) + 1e-4, adaptive=True, paired=True
        )
        assert change is not None
        assert change.p_below(0.0) == 1 or change.p_above(0.0) == 1
        assert change.chance(0.0) == 1


def test_no_number_of_pairs_tells_what_lies_between_mean_and_median() -> None:
    logarithms = np.array([-0.08] * 30 + [0.2] * 20)
    change = relative_change([1.0] * 50, np.exp(logarithms).tolist(), adaptive=True, paired=True)
    assert change is not None
    assert change.lacking(0.0, 0.05) is None
    assert change.lacking(0.06, 0.05) is not None
    assert change.lacking(-0.15, 0.05) is not None


def test_equal_values_have_no_width_and_two_no_interval() -> None:
    assert centre_interval(np.ones(5), 0.05) == (1.0, 1.0)
    assert centre_interval(np.array([1.0, 2.0]), 0.05) is None
    assert centre_chance(np.ones(5), 1.1) < 0.01
    assert centre_chance(np.ones(5), -math.inf) < 0.01


@pytest.mark.parametrize("n", [4, 12, 500])
def test_four_of_five_samples_so_far_away_exclude_the_candidate(n: int) -> None:
    distance = centre_distance(n, 0.05)
    assert distance is not None
    drawn = distance + np.random.default_rng([n, 1]).standard_normal((1_000, n))
    assert np.mean(centre_chance(drawn, 0.0) <= 0.05) == pytest.approx(0.8, abs=0.05)


def test_two_values_are_never_far_enough() -> None:
    assert centre_distance(2, 0.05) is None
