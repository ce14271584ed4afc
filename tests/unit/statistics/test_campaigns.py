"""The campaign as a random effect: what its interval is, and how often nothing is called a change."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from vtax.statistics import (
    CampaignScatter,
    absolute_change,
    assumed_scatter,
    discoveries,
    earlier_means,
    proportion_interval,
    relative_change,
)

Values = NDArray[np.float64]
CELLS, SCATTER, TOLERANCE = 24, 0.03, 0.05
A, B = [100.0, 102.0, 99.0, 103.0], [90.0, 91.0, 88.0, 90.5]


def test_of_campaigns_it_is_students_interval_on_their_number() -> None:
    means = [100.0, 108.0, 95.0, 99.0, 104.0, 91.0]
    known = earlier_means([[mean] * 4 for mean in means], relative=True)
    assert known is not None
    found = relative_change(A, B, campaigns=known.scatter(4, 4))
    assert found is not None and found.interval.low is not None and found.interval.high is not None
    reach = stats.t.ppf(0.975, 5) * math.sqrt(2) * np.std(np.log(means), ddof=1)
    shift = np.log(B).mean() - np.log(A).mean()
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (math.expm1(shift - reach), math.expm1(shift + reach))
    )
    assert found.p_below(found.interval.high) == pytest.approx(0.025)


def test_campaigns_that_do_not_differ_leave_the_interval_of_the_repetitions() -> None:
    known = earlier_means([[100.0] * 4] * 6, relative=True)
    assert known is not None
    plain, found = relative_change(A, B), relative_change(A, B, campaigns=known.scatter(4, 4))
    assert plain is not None and found is not None
    assert found.interval == plain.interval
    assert found.p_below(-0.05) == plain.p_below(-0.05)
    assert found.detectable_below(-0.05, 0.01) == plain.detectable_below(-0.05, 0.01)
    assert found.lacking(-0.05, 0.01) == plain.lacking(-0.05, 0.01)


def test_an_assumed_effect_is_added_to_the_scatter_of_the_repetitions() -> None:
    plain, found = relative_change(A, B), relative_change(A, B, campaigns=assumed_scatter(0.1, 0.1))
    assert plain is not None and plain.interval.low is not None
    assert found is not None and found.interval.low is not None
    shift = math.log1p(plain.interval.mean)
    own = shift - math.log1p(plain.interval.low)
    effect = stats.norm.ppf(0.975) * math.sqrt(2) * 0.1
    assert shift - math.log1p(found.interval.low) == pytest.approx(math.hypot(own, effect))
    assert found.p_below(found.interval.high or 0.0) == pytest.approx(0.025, rel=1e-3)


def test_an_effect_on_a_difference_is_in_the_unit_of_the_values() -> None:
    few = absolute_change([0.6] * 3, [0.6] * 3, resolution=0.001, campaigns=assumed_scatter(0.04, 0.04))
    assert few is not None and few.interval.high == pytest.approx(
        1.96 * math.sqrt(2) * 0.04 + 0.001, rel=1e-3
    )


def test_fewer_repetitions_than_the_earlier_campaigns_had_scatter_more() -> None:
    rng = np.random.default_rng(1)
    known = earlier_means(np.exp(rng.normal(0, 0.1, (6, 10))).tolist(), relative=True)
    assert known is not None
    assert known.scatter(10, 10).excess == 0 == known.scatter(30, 30).excess
    assert known.scatter(2, 2).excess == pytest.approx(known.repetition_variance * (1 - 0.2))


def test_what_gives_no_scatter() -> None:
    assert earlier_means([[1.0, 2.0]] * 5, relative=True) is None
    assert earlier_means([[0.0, 0.0]] * 6, relative=True) is None
    losses = earlier_means([[0.0]] * 6, relative=False)
    assert losses is not None and losses.scatter(3, 3) == CampaignScatter(0.0, 6)
    with pytest.raises(ValueError, match="without a value"):
        earlier_means([[1.0]] * 6 + [[]], relative=True)


def test_no_number_of_repetitions_takes_the_campaigns_out() -> None:
    near = relative_change([100.0, 101.0, 99.0], [90.0, 91.0, 89.0], campaigns=assumed_scatter(0.1, 0.1))
    assert near is not None and near.lacking(-0.05, 0.025) is None
    far = relative_change([100.0, 150.0, 70.0], [30.0, 45.0, 21.0], campaigns=assumed_scatter(0.1, 0.1))
    plain = relative_change([100.0, 150.0, 70.0], [30.0, 45.0, 21.0])
    assert far is not None and plain is not None
    more, without = far.lacking(-0.05, 0.001), plain.lacking(-0.05, 0.001)
    assert more is not None and without is not None and more > without


def test_values_that_decided_their_own_number_allow_for_it_too() -> None:
    plain = relative_change(A * 3, B * 3, adaptive=True)
    found = relative_change(A * 3, B * 3, adaptive=True, campaigns=assumed_scatter(0.1, 0.1))
    assert plain is not None and plain.interval.low is not None
    assert found is not None and found.interval.low is not None and found.interval.high is not None
    shift, effect = math.log1p(plain.interval.mean), 1.96 * math.sqrt(2) * 0.1
    own = shift - math.log1p(plain.interval.low)
    assert shift - math.log1p(found.interval.low) == pytest.approx(math.hypot(own, effect), rel=1e-3)
    assert found.detectable_below(-0.05, 0.01) is not None


def campaign(rng: np.random.Generator, effect: float, n: int, *, shared: bool) -> Values:
    """Return the values of 24 cells, whose campaign effects are one of all or each its own: (cells, repetitions)."""
    drawn = rng.normal(0, effect, (1 if shared else CELLS, 1))
    return np.asarray(np.exp(drawn + rng.normal(0, SCATTER, (CELLS, n))))


def reports_a_change(rng: np.random.Generator, effect: float, n: int, *, earlier: int, shared: bool) -> bool:
    """Whether a comparison of two campaigns calls any cell changed, none of which did."""
    past = [campaign(rng, effect, n, shared=shared) for _ in range(earlier)]
    a, b = (campaign(rng, effect, n, shared=shared).tolist() for _ in range(2))
    changes, beyond = [], []
    for cell in range(CELLS):
        known = earlier_means([each[cell].tolist() for each in past], relative=True)
        scatter = known.scatter(n, n) if known else assumed_scatter(0.1, 0.1)
        found = relative_change(a[cell], b[cell], resolution=0.001, campaigns=scatter)
        assert found is not None and found.interval.low is not None and found.interval.high is not None
        changes.append(found)
        beyond.append(found.interval.low > TOLERANCE or found.interval.high < -TOLERANCE)
    if not any(beyond):
        return False
    found_out = discoveries([change.p_beyond(-TOLERANCE, TOLERANCE) for change in changes])
    return any(one and other for one, other in zip(found_out, beyond, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("earlier", [0, 6])
@pytest.mark.parametrize("effect", [0.02, 0.05, 0.10])
@pytest.mark.parametrize("n", [3, 9])
def test_where_nothing_changed_few_comparisons_report_a_change(
    n: int, effect: float, earlier: int, shared: bool
) -> None:
    rng, comparisons = np.random.default_rng(9), 100
    false = sum(reports_a_change(rng, effect, n, earlier=earlier, shared=shared) for _ in range(comparisons))
    least = proportion_interval(false, comparisons).low
    assert least is not None and least <= 0.05


@pytest.mark.parametrize("earlier", [0, 6])
@pytest.mark.parametrize("bound", [-0.05, 0.10])
def test_the_detectable_change_is_found_in_80_percent_of_campaigns(earlier: int, bound: float) -> None:
    """Campaigns that differ by the effect and by the detectable change: the share that finds it, by simulation."""
    n, effect, p_value, campaigns, side = 5, 0.1, 0.01, 600, math.copysign(1, bound)
    scatter = CampaignScatter(2 * effect**2, 200) if earlier else assumed_scatter(0.1, 0.1)
    rng = np.random.default_rng(3)
    values = np.exp(0.03 * np.linspace(-1, 1, n)).tolist()
    known = relative_change(values, values, campaigns=scatter)
    assert known is not None
    change = known.detectable_below(bound, p_value) if side < 0 else known.detectable_above(bound, p_value)
    assert change is not None and (change - bound) * side > 0
    found = 0
    for _ in range(campaigns):
        first, second = (rng.normal(0, effect) + rng.normal(0, 0.021, n) for _ in range(2))
        seen = relative_change(
            np.exp(first).tolist(), (np.exp(second) * (1 + change)).tolist(), campaigns=scatter
        )
        assert seen is not None
        found += (seen.p_below(bound) if side < 0 else seen.p_above(bound)) <= p_value
    assert 0.74 < found / campaigns < 0.86
