"""Artifacts that are planted are told, and noise has none."""

from functools import reduce

import numpy as np
import pytest

from validation import planted
from validation.artifacts import CASES, SHAPE, false_alarms, is_told
from vtax.statistics.artifacts import (
    Dispersion,
    Drift,
    Finding,
    Modes,
    Moving,
    NotEnough,
    Periodic,
    Shape,
    WarmUp,
    detect,
)
from vtax.statistics.artifacts.detect import holding

RNG_SEED = 41


def noise(runs: int, iterations: int) -> planted.Samples:
    return planted.lognormal(np.random.default_rng(RNG_SEED), (runs, iterations))


def found(samples: planted.Samples, reference: planted.Samples | None = None) -> list[Finding]:
    return [each for each in detect(samples, reference) if isinstance(each, Finding)]


def only(samples: planted.Samples, reference: planted.Samples | None = None) -> Finding:
    (finding,) = found(samples, reference)
    return finding


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda number: CASES[number].what)
def test_what_is_planted_strongly_is_told_right(case: int) -> None:
    assert all(is_told(case, CASES[case].strengths[-1], seed) for seed in range(3))


@pytest.mark.parametrize("kind", planted.NOISES)
def test_noise_has_no_artifact(kind: str) -> None:
    """Of ten series at 1% each, two alarms come with a probability of 0.4%."""
    alarms = [false_alarms(kind, seed) for seed in range(10)]
    assert sum(map(bool, alarms)) <= 1, alarms


def test_lines_are_told_with_period_place_and_size() -> None:
    samples = noise(20, 1000)
    samples[:, 7::100] += 50_000
    lines = only(samples)
    assert isinstance(lines, Periodic)
    assert lines.period_iterations == pytest.approx(100, abs=0.01)
    assert lines.first_iteration in {6, 7}
    assert lines.size_ratio > 1.4
    assert "the same in every run" in lines.sentence


def test_lines_of_a_single_run_are_told() -> None:
    samples = noise(1, 4000)
    samples[:, 5::250] += 50_000
    assert [type(each) for each in found(samples)] == [Periodic]


def test_lines_in_some_runs_only_are_none() -> None:
    samples = noise(20, 400)
    samples[3, ::10] += 50_000
    assert all(isinstance(each, Modes) for each in found(samples))


def test_lines_and_diagonals_of_one_mesh_are_both_told() -> None:
    """As in Figure 2: lines twice as slow as the rest, and diagonals four times."""
    samples = noise(30, 2000)
    samples[:, 9::128] *= 2
    for run in range(len(samples)):
        samples[run, (np.arange(2000) - 17 * run) % 700 == 0] *= 4
    lines, moving = (each for each in found(samples) if not isinstance(each, Modes))
    assert isinstance(lines, Periodic)
    assert lines.period_iterations == pytest.approx(128, abs=0.2)
    assert isinstance(moving, Moving)
    assert (moving.slope_iterations, moving.period_iterations) == (17, 700)
    assert moving.size_ratio == pytest.approx(4, rel=0.1)
    assert "17 iterations later" in moving.sentence


def test_what_moves_is_not_told_again_as_a_period_of_its_own() -> None:
    samples = noise(20, 1000)
    for run in range(len(samples)):
        samples[run, (np.arange(1000) + 13 * run) % 100 == 0] += 100_000
    kinds = [each for each in found(samples) if not isinstance(each, Modes)]
    assert [type(each) for each in kinds] == [Moving]
    assert kinds[0].sentence.count("earlier") == 1


def test_periods_that_begin_anywhere_are_neither_lines_nor_memory() -> None:
    samples = planted.own_periods(np.random.default_rng(RNG_SEED), noise(30, 1000), 20)
    periods = [each for each in found(samples) if not isinstance(each, Modes)]
    assert [(type(each), each.first_iteration) for each in periods if isinstance(each, Periodic)] == [
        (Periodic, None)
    ]
    assert len(periods) == 1


def test_slow_columns_without_a_period_are_no_memory_between_runs() -> None:
    samples = noise(20, 400)
    samples[:, [3, 50, 171]] += 50_000
    assert not any(isinstance(each, Moving) for each in found(samples))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_first_iteration_alone_is_a_warm_up(sign: int) -> None:
    samples = noise(20, 400)
    samples[:, 0] += sign * 20_000
    warm_up = only(samples)
    assert isinstance(warm_up, WarmUp)
    assert warm_up.iterations == 1
    assert warm_up.size_ns == pytest.approx(sign * 20_000, rel=0.1)
    assert ("slower" if sign > 0 else "faster") in warm_up.sentence


def test_a_drift_is_no_warm_up_and_tells_its_change() -> None:
    drift = only(planted.drift_in_runs(np.random.default_rng(1), noise(20, 800), 0.5))
    assert isinstance(drift, Drift)
    assert drift.change_ns == pytest.approx(0.5 * planted.DEVIATION_NS, rel=0.3)


def test_three_modes_are_counted_with_their_shares() -> None:
    samples = noise(20, 1000)
    kinds = np.random.default_rng(2).choice(3, p=[0.5, 0.3, 0.2], size=samples.shape)
    modes = only(samples + 20_000.0 * kinds)
    assert isinstance(modes, Modes)
    assert modes.modes_ns == pytest.approx((50_000, 70_000, 90_000), rel=0.02)
    assert modes.shares == pytest.approx((0.5, 0.3, 0.2), abs=0.02)
    assert "3 values" in modes.sentence


def test_ticks_of_a_clock_are_no_modes() -> None:
    assert found(np.round(noise(20, 1000) / 2_500) * 2_500) == []


def test_the_distance_of_shapes_is_what_is_left_without_the_shift() -> None:
    """Quantiles of a uniform distribution twice as wide are 1000 |q - 1/2| ns apart, on average 250 ns."""
    rng = np.random.default_rng(3)
    reference, wider = rng.uniform(0, 1000, (20, 1000)), rng.uniform(5000, 7000, (20, 1000))
    shape, dispersion = found(wider, reference)
    assert isinstance(shape, Shape)
    assert shape.distance_ns == pytest.approx(250, rel=0.05)
    assert shape.shift_ns == pytest.approx(5500, rel=0.02)
    assert isinstance(dispersion, Dispersion)
    assert dispersion.ratio.low is not None
    assert dispersion.ratio.high is not None
    assert dispersion.ratio.low < 2 < dispersion.ratio.high


def test_a_shift_alone_is_no_other_shape() -> None:
    rng = np.random.default_rng(4)
    assert found(planted.gamma(rng, SHAPE) + 30_000, planted.gamma(rng, SHAPE)) == []


def test_single_runs_are_compared_in_stretches() -> None:
    """As the paper's 1,000 requests of a web server."""
    rng = np.random.default_rng(5)
    one, other = planted.gamma(rng, (1, 1000)), planted.lognormal(rng, (1, 1000))
    assert Shape in map(type, found(one, other))


def test_failed_iterations_are_neither_slow_nor_fast() -> None:
    rng = np.random.default_rng(6)
    samples = noise(20, 1000)
    samples[rng.random(samples.shape) < 0.05] = np.nan
    samples[:, ::50] = np.nan
    samples[4] = np.nan
    assert found(samples, noise(20, 1000)[::-1]) == []
    samples[:, 7::100] += 50_000
    assert Periodic in map(type, found(samples))


@pytest.mark.parametrize("shape", [(0, 0), (0, 10), (3, 0), (1, 1), (2, 10)])
def test_too_few_samples_are_said_to_be(shape: tuple[int, int]) -> None:
    answers = detect(np.full(shape, 50_000.0), np.full(shape, 50_000.0))
    assert [type(each) for each in answers] == [NotEnough] * 9
    assert all(each.sentence.startswith("Not enough samples to look for") for each in answers)


def test_nothing_but_failures_is_not_enough() -> None:
    assert {type(each) for each in detect(np.full((20, 400), np.nan))} == {NotEnough}


def test_durations_that_never_differ_have_no_artifact() -> None:
    assert found(np.full((20, 400), 50_000.0), np.full((20, 400), 50_000.0)) == []


@pytest.mark.parametrize("samples", [np.zeros(5), np.zeros((2, 2, 2)), np.full((3, 30), np.inf)])
def test_what_are_no_samples_is_refused(samples: planted.Samples) -> None:
    with pytest.raises(ValueError, match=r"samples are \(runs, iterations\), finite or NaN"):
        detect(samples)


def test_many_tests_are_held_together() -> None:
    """Holm's procedure at 5%: 0.005 and 0.01 are below 0.05 / 4 and 0.05 / 3; 0.03 is not below 0.05 / 2."""
    assert holding([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert holding([], 0.05) == []


def test_all_that_is_planted_together_is_told_together() -> None:
    rng = np.random.default_rng(8)
    plants = (
        (planted.lines, 8.0),
        (planted.diagonals, 40.0),
        (planted.warm_up, 3.0),
        (planted.drift_over_runs, 2.0),
    )
    samples = reduce(lambda mesh, each: each[0](rng, mesh, each[1]), plants, noise(20, 800))
    assert {Periodic, Moving, WarmUp, Drift} <= set(map(type, found(samples)))
