"""Values that stand apart: found where they are and hardly where they are not, and medians whose intervals hold."""

import re
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.paths import ROOT
from vtax.statistics import (
    Centre,
    Interval,
    adaptive_interval,
    adaptive_total,
    climb,
    climbed_ratio,
    mean_interval,
    paired_ratio,
    select_maximum,
    standing_apart,
    total_interval,
    typical_interval,
)
from vtax.statistics.apart import _DEVIATIONS, _DEVIATIONS_OF_MORE

SAMPLES = 2000
FEW = [540.0, 900.0, 902.0]
MANY = [900.0, 902.0, 898.0, 899.0, 540.0, 901.0, 903.0, 897.0, 900.5, 899.5]


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9, 10, 11])
def test_of_normal_values_one_sample_in_forty_seems_to_have_some(n: int) -> None:
    rng = np.random.default_rng(n)
    found = sum(standing_apart(rng.standard_normal(n)) > 0 for _ in range(SAMPLES))
    assert 0.013 * SAMPLES < found < 0.037 * SAMPLES


@pytest.mark.parametrize("n", [12, 20, 60])
def test_of_many_normal_values_fewer_have(n: int) -> None:
    rng = np.random.default_rng(n)
    assert sum(standing_apart(rng.standard_normal(n)) > 0 for _ in range(500)) < 0.03 * 500


@pytest.mark.parametrize(
    ("values", "apart"),
    [
        (FEW, 1),
        (MANY, 1),
        ([*MANY, 1400.0], 2),
        ([570.0, 572, 575, 565, 568, 700, 710, 722, 695, 715], 5),
        ([570.0, 572, 575, 565, 568, 571, 700, 710, 722, 695], 4),
        ([900.0, 540.0], 0),
        ([7.0, 7.0, 7.0], 0),
        ([], 0),
    ],
)
def test_collapses_and_modes_are_found(values: list[float], apart: int) -> None:
    assert standing_apart(values) == apart


def test_within_a_step_nothing_stands_apart() -> None:
    assert standing_apart([0.0, 0.0, 1.0], step=1.0) == 0
    assert standing_apart([0.0, 0.0, 100.0], step=1.0) == 1
    assert standing_apart([0.0, 0.0, 100.0]) == 0  # how wide a step is is not known


@given(st.lists(st.integers(-999, 999).map(float), max_size=12), st.integers(0, 10), st.randoms())
def test_neither_order_nor_sign_nor_place_matters(values: list[float], step: int, random: object) -> None:
    apart = standing_apart(values, step)
    assert 0 <= apart <= len(values) // 2
    assert standing_apart([-value for value in values], step) == apart
    random.shuffle(values)  # type: ignore[attr-defined]
    assert standing_apart(values, step) == apart


def test_few_values_are_all_kept_with_their_mean() -> None:
    found, mean = typical_interval(FEW), mean_interval(FEW)
    assert (found.mean, found.low, found.high) == (mean.mean, mean.low, mean.high)
    assert (found.centre, found.apart, found.points) == (Centre.MEAN, 1, tuple(FEW))


def test_of_many_the_median_stands_for_all() -> None:
    ordered = sorted(MANY)
    assert typical_interval(MANY) == Interval(899.75, ordered[1], ordered[-2], 10, Centre.MEDIAN, 1)


def test_too_few_values_for_a_confidence_have_the_same_median_without_bounds() -> None:
    six = MANY[:6]
    assert typical_interval(six).low is not None
    found = typical_interval(six, 0.99)
    assert (found.mean, found.centre, found.apart) == (typical_interval(six).mean, Centre.MEDIAN, 1)
    assert found.low is found.high is None


@pytest.mark.parametrize("total", [total_interval, adaptive_total])
def test_of_a_total_the_mean_is_kept(total: Callable[[list[float]], Interval]) -> None:
    found = total(MANY)
    assert (found.mean, found.centre, found.apart) == (np.mean(MANY), Centre.MEAN, 1)
    assert total(FEW).points == tuple(FEW)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=30), st.floats(0, 100))
def test_an_interval_is_around_its_value_and_among_what_was_measured(
    values: list[float], step: float
) -> None:
    for interval in (typical_interval, adaptive_interval):
        found = interval(values, step=step)
        assert found.n == len(values)
        if found.low is not None and found.high is not None:
            assert found.low <= found.mean <= found.high
            assert found.centre is Centre.MEAN or (
                found.low in values and found.high in values and found.apart
            )


MEDIAN = 900 * (1 + 0.01 * NormalDist().inv_cdf(4 / 9))
"""Of all trials that `collapsing` draws: half of them, and so four in nine of those that do not collapse, lie below."""


def collapsing(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Throughputs of which one in ten collapses to 60%."""
    return 900 * (1 + 0.01 * rng.standard_normal(shape)) * np.where(rng.random(shape) < 0.1, 0.6, 1)


def holds(found: Interval) -> bool:
    """Whether it holds what it is of: the median of all trials, or the mean of those that do not collapse."""
    if found.low is None or found.high is None:
        return False
    return found.low <= (MEDIAN if found.centre is Centre.MEDIAN else 900) <= found.high


@pytest.mark.parametrize("n", [3, 5, 6, 10, 20])
def test_what_is_shown_of_collapsing_trials_holds_what_most_are(n: int) -> None:
    found = [typical_interval(values.tolist()) for values in collapsing(np.random.default_rng(n), 500, n)]
    shown = [each for each in found if not each.points]
    assert sum(map(holds, shown)) >= 0.93 * len(shown)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20])
def test_a_maximum_holds_where_the_best_loads_collapse(n: int) -> None:
    rng, shown, held = np.random.default_rng(n), 0, 0
    for _ in range(200):
        values = collapsing(rng, n, 5) * [0.5, 0.97, 1, 1, 1]
        found = select_maximum(
            {load: dict(enumerate(column)) for load, column in enumerate(values.T.tolist())}
        )
        assert found is not None
        shown += not found.interval.points
        held += not found.interval.points and holds(found.interval)
    assert held >= 0.93 * shown


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_where_values_decide_when_to_stop_it_holds_all_the_same(correlation: float) -> None:
    rng, held = np.random.default_rng(91), 0
    for _ in range(200):
        noise = rng.standard_normal(100)
        for place in range(1, 100):
            noise[place] = correlation * noise[place - 1] + (1 - correlation**2) ** 0.5 * noise[place]
        values = 900 * (1 + 0.01 * noise) * np.where(rng.random(100) < 0.1, 0.6, 1)
        for n in range(10, 101):
            found = adaptive_interval(values[:n].tolist(), step=0.9)
            if found.low is not None and found.high is not None and found.high - found.low <= 45:
                break
        held += holds(found)
    assert held >= 0.93 * 200


def test_a_collapse_to_nothing_leaves_the_median_of_ratios() -> None:
    """Of which the logarithm of nothing is no value, but below every other."""
    reference = {block: 900.0 + block for block in range(10)}
    measured = {block: 0.0 if block == 4 else 450.0 + block for block in range(10)}
    found = paired_ratio(measured, reference, mean=typical_interval)
    assert found is not None and found.low is not None and found.high is not None
    assert (found.centre, found.apart) == (Centre.MEDIAN, 1)
    assert 0.499 < found.low <= found.mean <= found.high < 0.51
    nothing = paired_ratio(measured | {0: 0.0, 1: 0.0}, reference, mean=typical_interval)
    assert nothing is not None and nothing.low == 0.0
    plain = paired_ratio(measured, reference)
    assert plain is not None and plain.low is None


def test_a_maximum_of_values_that_decide_when_to_stop_tells_what_it_is() -> None:
    ladder = climb({1000.0: MANY * 2, 100.0: [100.0] * 20}, {})
    assert (ladder.best, ladder.interval.centre, ladder.interval.apart) == (1000.0, Centre.MEDIAN, 2)
    ratio = climbed_ratio(ladder, climb({1000.0: [450.0 + place / 10 for place in range(20)]}, {}))
    assert (ratio.centre, ratio.apart) == (Centre.MEDIAN, 2)


def test_of_few_blocks_all_points_are_of_the_load_picked() -> None:
    loads = {"a": [900.0, 901.0, 500.0], "b": [880.0, 880.0, 880.0]}
    found = select_maximum({load: dict(enumerate(values)) for load, values in loads.items()}, share=0.001)
    assert found is not None
    assert (found.load, found.interval.points) == ("a", (500.0, 900.0, 901.0))


def test_the_page_has_the_distances_that_count() -> None:
    """A row has what holds for all numbers of values that it names."""
    text = (ROOT / "docs/verdicts.md").read_text().split("## Trials that stand apart")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+(?:, \d+)*) \| ([\d.]+) \|$", text, re.MULTILINE)
    assert {int(n): float(wanted) for numbers, wanted in rows for n in numbers.split(", ")} == _DEVIATIONS
    assert f"| {max(_DEVIATIONS) + 1} or more | {_DEVIATIONS_OF_MORE:g} |" in text
