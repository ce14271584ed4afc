"""Changes beyond a tolerance: known values, what holds of any, and how often nothing is called something."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vtax.statistics import (
    absolute_change,
    compare,
    discoveries,
    discovery_level,
    proportion_interval,
    relative_change,
)

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


def scattered(mean: float, scatter: float, n: int) -> list[float]:
    """Return `n` values whose logarithms have exactly this mean and sample standard deviation."""
    spread = np.linspace(-1.0, 1.0, n)
    return np.exp(math.log(mean) + scatter * spread / spread.std(ddof=1)).tolist()


@pytest.mark.parametrize(
    ("n_a", "n_b", "scatter_a", "scatter_b", "p_value", "adaptive"),
    [
        (3, 3, 0.05, 0.05, 0.025, False),
        (3, 3, 0.05, 0.05, 0.05 / 24, False),
        (2, 4, 0.01, 0.02, 0.05 / 10, False),
        (9, 9, 0.05, 0.05, 0.05 / 24, False),
        (5, 5, 0.02, 0.10, 0.025, False),
        (5, 5, 0.02, 0.10, 0.5, False),
        (12, 6, 0.05, 0.05, 0.05 / 24, False),
        (5, 8, 0.05, 0.05, 0.05 / 24, True),
        (5, 5, 0.05, 0.05, 0.5, True),
    ],
)
@pytest.mark.parametrize("bound", [-0.05, 0.10])
def test_the_detectable_change_is_found_in_80_percent_of_campaigns(
    n_a: int, n_b: int, scatter_a: float, scatter_b: float, p_value: float, adaptive: bool, bound: float
) -> None:
    """Campaigns whose true change is the detectable one: the share that finds it is the power, by simulation."""
    below, campaigns, resolution = bound < 0, 400 if adaptive else 1500, 0.001
    known = relative_change(
        scattered(100, scatter_a, n_a),
        scattered(103, scatter_b, n_b),
        resolution=resolution,
        adaptive=adaptive,
    )
    assert known is not None
    change = known.detectable_below(bound, p_value) if below else known.detectable_above(bound, p_value)
    assert change is not None and (change < bound if below else change > bound)
    rng = np.random.default_rng(28)
    found = 0
    for _ in range(campaigns):
        a = np.exp(rng.normal(0, scatter_a, n_a)).tolist()
        b = np.exp(rng.normal(math.log1p(change), scatter_b, n_b)).tolist()
        seen = relative_change(a, b, resolution=resolution, adaptive=adaptive)
        assert seen is not None and seen.interval.low is not None and seen.interval.high is not None
        chance = seen.p_below(bound) if below else seen.p_above(bound)
        beyond = seen.interval.high < bound if below else seen.interval.low > bound
        found += beyond and chance <= p_value
    # Six standard errors of the share on either side.
    assert found / campaigns == pytest.approx(0.8, abs=6 * math.sqrt(0.16 / campaigns))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("measured", "bound"), [(0.96, -0.05), (0.90, -0.05), (1.02, 0.05)])
def test_as_many_values_as_are_lacking_decide_in_80_percent_of_campaigns(
    measured: float, bound: float, paired: bool
) -> None:
    """Campaigns whose true change is the measured one, with as many values as were said to decide, by simulation."""
    n, scatter, campaigns = 4, 0.05, 600
    few = relative_change(
        [100.0] * n if paired else scattered(100, scatter, n),
        scattered(100 * measured, scatter, n),
        paired=paired,
    )
    assert few is not None
    lacking = few.lacking(bound, 0.025)
    assert lacking is not None
    many = n + (lacking if paired else math.ceil(lacking / 2))
    rng, decided = np.random.default_rng(35), 0
    for _ in range(campaigns):
        first = np.ones(many) if paired else np.exp(rng.normal(0, scatter, many))
        second = np.exp(rng.normal(math.log(measured), scatter, many))
        seen = relative_change(first.tolist(), second.tolist(), paired=paired)
        assert seen is not None and seen.interval.low is not None and seen.interval.high is not None
        decided += not seen.interval.low <= bound <= seen.interval.high
    assert 0.74 < decided / campaigns < 0.9


def test_no_number_of_values_tells_a_change_from_where_it_is() -> None:
    at_bound = relative_change([100.0] * 3, [94.9, 95.0, 95.1], resolution=0.001, paired=True)
    assert at_bound is not None and at_bound.lacking(-0.05, 0.025) is None
    least = relative_change([100.0] * 3, [90.0, 80.0, 70.0], paired=True)
    assert least is not None
    assert least.lacking(-0.05, 0.025) is not None
    assert least.at_least().lacking(-0.05, 0.025) is None
    assert least.at_most().lacking(-0.05, 0.025) == least.lacking(-0.05, 0.025)


def test_the_detectable_change_falls_with_repetitions_and_rises_with_scatter() -> None:
    def detectable(n: int, scatter: float, p_value: float) -> float:
        values = scattered(100, scatter, n)
        change = relative_change(values, values)
        assert change is not None
        found = change.detectable_below(-0.05, p_value)
        assert found is not None
        return found

    assert detectable(3, 0.05, 0.002) < detectable(5, 0.05, 0.002) < detectable(9, 0.05, 0.002) < -0.05
    assert detectable(9, 0.10, 0.002) < detectable(9, 0.05, 0.002)
    assert detectable(9, 0.05, 0.0002) < detectable(9, 0.05, 0.002)


def test_a_change_that_no_number_of_such_values_shows_is_none() -> None:
    few = relative_change([10.0] * 3, [10.0] * 3)
    assert few is not None
    assert (
        few.detectable_below(-0.05, 0.01) is None
    )  # the permutation test of 3 and 3 has no p value below 1/20
    assert few.detectable_below(-0.05, 0.05) == pytest.approx(-0.05)
    stepped = relative_change([10.0] * 3, [10.0] * 3, resolution=0.01)
    assert stepped is not None
    found = stepped.detectable_below(-0.05, 0.01)
    assert found is not None and -0.09 < found < -0.06
    lost = relative_change([100.0, 50.0, 150.0], [0.0, 90.0, 180.0])
    assert lost is not None and lost.detectable_below(-0.05, 0.01) is None  # more than all of it
    adaptive = relative_change([10.0, 11.0], [10.0, 12.0], adaptive=True)
    assert adaptive is not None and adaptive.detectable_above(0.05, 0.01) is None


def test_a_discovery_level_is_the_p_value_that_makes_one_more_discovery() -> None:
    others = [1e-6, 1e-5, 0.9, 0.8, 0.7]
    level = discovery_level(2, len(others) + 1)
    assert discoveries([*others, level * 0.999])[-1]
    assert not discoveries([*others, level * 1.001])[-1]
