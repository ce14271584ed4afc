"""Intervals that hold at every number of repetitions at once."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from vtax.statistics import (
    Interval,
    adaptive_interval,
    anytime_interval,
    climb,
    climbed_ratio,
    load_cap,
    mean_interval,
    relative_width,
)
from vtax.statistics.anytime import EFFECT_VARIANCE, log_t_evidence

VALUES = st.lists(st.floats(0, 1000), min_size=1, max_size=30)


def evidence(values: list[float], mean: float) -> float:
    """Against a mean: the likelihood ratio of the t statistic, effects mixed numerically."""
    n = len(values)
    t = math.sqrt(n) * (np.mean(values) - mean) / np.std(values, ddof=1)
    deviation = math.sqrt(EFFECT_VARIANCE)
    points = np.linspace(-8 * deviation, 8 * deviation, 20_001)
    weights = stats.norm.pdf(points, 0, deviation) * (points[1] - points[0])
    with np.errstate(under="ignore"):
        alternative = np.nansum(stats.nct.pdf(t, n - 1, math.sqrt(n) * points) * weights)
    return float(alternative / stats.t.pdf(t, n - 1))


def test_the_bounds_are_the_means_whose_evidence_against_is_one_in_twenty() -> None:
    values = [10.0, 11.0, 9.5, 10.4, 10.1]
    found = anytime_interval(values)
    assert found.low is not None and found.high is not None
    assert found.low + found.high == pytest.approx(2 * np.mean(values))
    expected = optimize.brentq(lambda mean: evidence(values, mean) - 20, np.mean(values), 15)
    assert found.high == pytest.approx(expected, rel=1e-3)


@given(VALUES, st.floats(0.5, 0.99))
def test_it_is_wider_than_students_and_grows_with_confidence(values: list[float], confidence: float) -> None:
    found, student = anytime_interval(values, confidence), mean_interval(values, confidence)
    assert (found.mean, found.n) == (student.mean, student.n)
    if found.low is None or found.high is None:
        assert found.n < 4
        return
    assert student.low is not None and student.high is not None
    assert found.low <= student.low + 1e-9 and found.high >= student.high - 1e-9
    more = anytime_interval(values, (1 + confidence) / 2)
    assert more.low is None or more.low <= found.low


def test_few_values_have_no_bounds() -> None:
    assert anytime_interval([1.0]) == Interval(1.0, None, None, 1)
    assert anytime_interval([1.0, 2.0]).low is None
    assert anytime_interval([1.0, 1.0, 1.0]) == Interval(1.0, 1.0, 1.0, 3)
    with pytest.raises(ValueError, match="at least one value"):
        anytime_interval([])


def test_it_holds_at_every_moment_where_students_does_not() -> None:
    rng = np.random.default_rng(7)
    missed = {anytime_interval: 0, mean_interval: 0}
    campaigns = rng.standard_normal((400, 40))
    for values in campaigns:
        for interval in missed:
            bounds = [interval(values[:n].tolist(), 0.95) for n in range(3, 41)]
            missed[interval] += any(at.low > 0 or at.high < 0 for at in bounds)  # type: ignore[operator]
    assert missed[anytime_interval] <= 0.05 * len(campaigns)
    assert missed[mean_interval] > 0.1 * len(campaigns)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5, 0.7])
def test_it_holds_where_precision_stops_though_repetitions_are_like_the_one_before(
    correlation: float,
) -> None:
    rng, held, campaigns = np.random.default_rng(87), 0, 300
    for _ in range(campaigns):
        values = rng.standard_normal(100)
        for place in range(1, 100):
            values[place] = correlation * values[place - 1] + math.sqrt(1 - correlation**2) * values[place]
        for n in range(10, 101):
            found = adaptive_interval((100 + 1.5 * values[:n]).tolist())
            if found.low is not None and found.high is not None and found.high - found.low <= 5:
                break
        assert found.low is not None and found.high is not None
        held += found.low <= 100 <= found.high
    assert held >= 0.93 * campaigns


def test_neighbours_that_are_alike_widen_it_and_others_do_not() -> None:
    rising, jumping = [float(value) for value in range(10)], [1.0, 9.0] * 5
    for values, is_wider in ((rising, True), (jumping, False)):
        found, plain = adaptive_interval(values), anytime_interval(values)
        assert found.high is not None and plain.high is not None
        assert (found.high > plain.high + 1e-9) is is_wider
    assert adaptive_interval([1.0, 2.0]) == anytime_interval([1.0, 2.0])
    assert adaptive_interval([5.0] * 10) == Interval(5.0, 5.0, 5.0, 10)


def test_the_width_is_a_share_of_the_estimate() -> None:
    assert relative_width(Interval(-10.0, -11.0, -9.0, 3)) == pytest.approx(0.2)
    assert relative_width(Interval(10.0, None, None, 1)) is None
    assert relative_width(Interval(0.0, -1.0, 1.0, 3)) is None
    assert relative_width(Interval(0.0, 0.0, 0.0, 3)) == 0.0


def noisy(mean: float, n: int, seed: int = 1) -> list[float]:
    return (mean * (1 + 0.005 * np.random.default_rng(seed).standard_normal(n))).tolist()


def test_loads_that_cannot_be_the_best_are_not_wanted() -> None:
    loads = {100.0: noisy(100, 4), 500.0: noisy(480, 6), 1000.0: noisy(700, 6, seed=2)}
    ladder = climb(loads, {load: load_cap(load, 1) for load in loads})
    assert ladder.best == 1000.0
    assert ladder.wanted(0.001) == {1000.0}
    assert ladder.interval.low is not None and ladder.interval.low < 700 < (ladder.interval.high or 0)


def test_a_load_is_excluded_by_what_was_offered_alone() -> None:
    """One value has no bounds, but 100 Mbit/s offered are never more."""
    loads = {100.0: [100.0], 1000.0: noisy(700, 10)}
    assert climb(loads, {load: load_cap(load, 1) for load in loads}).wanted(0.001) == {1000.0}
    assert climb(loads, {}).interval.high is None


def test_loads_as_good_as_each_other_are_all_wanted_until_it_is_narrow() -> None:
    loads = {600.0: noisy(500, 5), 800.0: noisy(500, 5, seed=2), 1000.0: noisy(500, 5, seed=3)}
    ladder = climb(loads, {})
    assert ladder.wanted(0.001) == set(loads)
    assert relative_width(ladder.interval) is not None


def test_the_interval_of_the_maximum_holds_at_every_moment() -> None:
    rng = np.random.default_rng(3)
    means, missed, campaigns = np.array([80.0, 99.0, 100.0, 100.0]), 0, 150
    for _ in range(campaigns):
        values = means * (1 + 0.01 * rng.standard_normal((25, 4)))
        ladders = [climb(dict(enumerate(values[:n].T.tolist())), {}) for n in range(4, 26)]
        missed += any(
            at.interval.low is not None
            and at.interval.high is not None
            and not at.interval.low <= 100 <= at.interval.high
            for at in ladders
        )
    assert missed <= 0.05 * campaigns


def test_a_ratio_of_two_maxima_spans_both_intervals() -> None:
    one, other = (climb({1000.0: noisy(mean, 10)}, {}, 0.975) for mean in (450, 900))
    ratio = climbed_ratio(one, other)
    assert ratio.mean == pytest.approx(0.5)
    assert ratio.low == pytest.approx((one.interval.low or 0) / (other.interval.high or 1))
    assert climbed_ratio(one, climb({1000.0: [900.0]}, {})).low is None


@given(st.integers(3, 300), st.floats(1e-12, 0.5))
def test_the_evidence_against_an_end_is_one_over_the_miss(n: int, miss: float) -> None:
    alike = np.resize([-1.0, 1.0], n)
    found = anytime_interval((alike / alike.std(ddof=1)).tolist(), 1 - miss)
    away = math.inf if found.high is None else found.high - found.mean
    least = float(np.exp(-log_t_evidence(n, np.asarray(away))))
    assert least >= miss * (1 - 1e-9) if found.high is None else least == pytest.approx(miss, rel=1e-6)
    assert log_t_evidence(n, np.asarray(0.0)) <= 0
