"""Of many differences those are picked that Benjamini and Hochberg would, with intervals that exclude zero."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vtax.statistics import discoveries, mean_interval, pick_differences
from vtax.statistics.interval import Interval

RATE = 0.05
VALUES = st.lists(st.integers(-1000, 1000), min_size=3, max_size=6, unique=True)


def picked(samples: Sequence[Sequence[float]]) -> list[bool]:
    found = pick_differences([partial(mean_interval, sample) for sample in samples])
    return [interval is not None for interval in found.intervals]


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_what_is_picked_is_what_the_p_values_say(samples: list[list[int]]) -> None:
    p_values = [float(stats.ttest_1samp(sample, 0).pvalue) for sample in samples]
    m = len(p_values)
    if min(abs(p * m / k - RATE) for p in p_values for k in range(1, m + 1)) > 1e-9:
        assert picked(samples) == discoveries(p_values, RATE)


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_no_interval_that_is_picked_holds_zero(samples: list[list[int]]) -> None:
    found = pick_differences([partial(mean_interval, sample) for sample in samples])
    told = [interval for interval in found.intervals if interval is not None]
    assert all(
        interval.low is not None and interval.high is not None and interval.low * interval.high > 0
        for interval in told
    )
    assert found.confidence == pytest.approx(1 - RATE * (len(told) or len(samples)) / len(samples))


def test_one_comparison_is_an_ordinary_one() -> None:
    sample = [1.0, 2.0, 3.0, 4.0]
    assert pick_differences([partial(mean_interval, sample)]).intervals == (mean_interval(sample),)
    wide = [-1.0, 2.0, 3.0, 4.0]
    assert pick_differences([partial(mean_interval, wide)]).intervals == (None,)


def test_nothing_and_single_values_are_no_differences() -> None:
    assert pick_differences([]).intervals == ()
    assert picked([[5.0], [5.0]]) == [False, False]


def test_a_difference_of_no_width_is_one_unless_it_is_zero() -> None:
    assert picked([[5.0, 5.0], [0.0, 0.0]]) == [True, False]


def test_of_what_is_picked_few_intervals_miss() -> None:
    """400 families of 30 comparisons, a third of which differ: the share of misses among those picked, averaged."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0.0, 2.0], [20, 10])
    missed = []
    for _ in range(400):
        samples = rng.normal(truth[:, None], 1.0, (30, 6))
        found = pick_differences([partial(mean_interval, list(sample)) for sample in samples]).intervals
        told = [(interval, mean) for interval, mean in zip(found, truth, strict=True) if interval is not None]
        missed.append(sum(not _holds(interval, mean) for interval, mean in told) / max(1, len(told)))
    assert 0.01 < np.mean(missed) < RATE + 3 * np.std(missed) / len(missed) ** 0.5


def _holds(interval: Interval, value: float) -> bool:
    return interval.low is not None and interval.high is not None and interval.low <= value <= interval.high
