"""Intervals of values that come in steps: wider by them, never of no width, and true of what a tick hides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.model.sample import Sample
from vtax.registry.catalogues import CATALOGUES
from vtax.statistics import PER_MILLE, Interval, Resolution, mean_interval

CAMPAIGNS = 1500
TICK = 1.06
"""A tick of 10 ms in percent of a CPU, in a trial of 0.94 s."""


def sample(values: list[float], resolution: Resolution) -> Sample:
    return Sample(values=dict(enumerate(values)), recorded=len(values), invalid=0, resolution=resolution)


def bounds(found: object) -> tuple[float | None, float | None]:
    return found.low, found.high  # type: ignore[attr-defined]


def test_equal_values_are_known_to_a_step() -> None:
    own, other = sample([4.0, 4.0, 4.0], Resolution(step=0.5)), sample([2.0, 2.0, 2.0], PER_MILLE)
    assert bounds(own.estimate()) == (3.5, 4.5)
    assert bounds(other.estimate()) == pytest.approx((1.998, 2.002))
    assert bounds(own.difference(other)) == (1.5, 2.5)
    assert bounds(own.ratio(other)) == pytest.approx((2 * np.exp(-0.125), 2 * np.exp(0.125)))


def test_a_step_scales_with_the_values() -> None:
    assert bounds(sample([4.0, 4.0], Resolution(step=0.5)).scaled(10).estimate()) == (35, 45)


def test_one_value_has_no_interval() -> None:
    assert bounds(sample([4.0], Resolution(step=0.5)).estimate()) == (None, None)


def test_a_step_takes_no_mean_below_zero() -> None:
    assert bounds(sample([0.0, 0.0, 0.0], Resolution(step=0.5)).estimate()) == (0.0, 0.5)
    assert bounds(sample([-1.0, -1.0], Resolution(step=2)).estimate()) == (-3.0, 1.0)
    scattered = mean_interval([0.0, 1.0, 0.0])
    assert scattered.low is not None and scattered.low < 0
    assert Resolution(step=0.5).of_mean(scattered).low == scattered.low


def test_zeros_in_shares_have_no_interval() -> None:
    assert bounds(sample([0.0, 0.0, 0.0], PER_MILLE).estimate()) == (None, None)


@given(
    st.lists(st.floats(0, 1e6), min_size=2, max_size=6),
    st.floats(0, 1, allow_subnormal=False),
    st.floats(0, 0.1, allow_subnormal=False),
)
def test_no_interval_is_without_width(values: list[float], step: float, share: float) -> None:
    found = Resolution(step, share).of_mean(mean_interval(values))
    assert found.low is None or found.high is None or found.low < found.high


def test_every_metric_that_is_shown_has_a_step() -> None:
    without = {
        metric.name
        for catalogue in CATALOGUES.values()
        for metric in (*catalogue.metrics, *catalogue.shown)
        if not metric.resolution and not metric.step_sql
    }
    assert without == set()


@pytest.mark.parametrize("ticks", [0.3, 3.3])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_cpu_time_in_ticks_is_held(ticks: float, n: int) -> None:
    rng = np.random.default_rng(86)

    def counted(mean: float) -> list[list[float]]:
        spent = mean * (1 + 0.05 * rng.standard_normal((CAMPAIGNS, n)))
        return (TICK * np.floor(spent + rng.random((CAMPAIGNS, n)))).tolist()

    own, other = (
        [sample(each, Resolution(step=TICK)) for each in counted(factor * ticks)] for factor in (1, 1.1)
    )
    means = [each.interval() for each in own]
    assert share_held(means, TICK * ticks) >= 0.93
    pairs = zip(own, other, strict=True)
    assert share_held([two.difference(one) for one, two in pairs], 0.1 * TICK * ticks) >= 0.93


def share_held(found: list[object] | list[Interval], truth: float) -> float:
    ends = [bounds(each) for each in found]
    return float(
        np.mean([low is not None and high is not None and low <= truth <= high for low, high in ends])
    )
