"""What findings do not depend on, of any durations; and the summary of such."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from validation import planted
from vtax.statistics import mean_interval
from vtax.statistics.artifacts import NotEnough, Samples, detect, summarise
from vtax.statistics.artifacts.detect import COMPARISONS, DETECTORS
from vtax.statistics.artifacts.drift import look_for_drift_over_runs
from vtax.statistics.artifacts.moving import look_for_moves
from vtax.statistics.artifacts.series import Series

DURATIONS = st.integers(0, 10**6).map(float)
MESHES = arrays(
    np.float64, st.tuples(st.integers(3, 12), st.integers(50, 200)), elements=DURATIONS, fill=DURATIONS
)
ANYTHING = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=70),
    elements=st.one_of(DURATIONS, st.just(np.nan)),
    fill=st.one_of(DURATIONS, st.just(np.nan)),
)
SEEDS = st.integers(0, 2**32 - 1)


def a_mesh(seed: int) -> Samples:
    """Whole durations with several artifacts of chance strengths."""
    rng = np.random.default_rng(seed)
    samples = planted.lognormal(rng, (10, 200))
    for plant in (planted.lines, planted.diagonals, planted.warm_up, planted.drift_over_runs):
        samples = plant(rng, samples, rng.choice([0, 1, 4]))
    samples[rng.random(samples.shape) < rng.choice([0, 0.02])] = np.nan
    return np.round(samples)


def evidence(samples: Samples) -> list[float]:
    """Each detector's p-value, NaN where there are not enough samples."""
    answers = [look(Series.of(samples)) for look in DETECTORS]
    answers += [look(Series.of(samples), Series.of(samples[::-1, ::-1])) for look in COMPARISONS]
    return [np.nan if isinstance(answer, NotEnough) else answer.p_value for answer in answers]


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of arithmetic
@settings(max_examples=40)
@given(ANYTHING, ANYTHING)
def test_anything_is_answered_in_sentences(samples: Samples, reference: Samples) -> None:
    for answer in detect(samples, reference):
        assert answer.sentence.endswith(".")
        assert "nan" not in answer.sentence


@settings(max_examples=15)
@given(MESHES, st.integers(-(10**6), 10**6), st.sampled_from([0.5, 4.0, 1024.0]))
def test_place_and_unit_of_any_durations_do_not_matter(samples: Samples, shift: int, factor: float) -> None:
    assert evidence(factor * (samples + shift)) == pytest.approx(
        evidence(samples), rel=1e-6, abs=1e-9, nan_ok=True
    )


@settings(max_examples=15)
@given(SEEDS)
def test_place_and_unit_of_artifacts_do_not_matter(seed: int) -> None:
    samples = a_mesh(seed)
    assert evidence(4 * (samples + 12_345)) == pytest.approx(
        evidence(samples), rel=1e-6, abs=1e-9, nan_ok=True
    )
    before, after = detect(samples), detect(4 * samples)
    assert list(map(type, before)) == list(map(type, after))
    for one, other in zip(before, after, strict=True):
        for name in ("size_ns", "change_ns"):
            if hasattr(one, name):
                assert getattr(other, name) == pytest.approx(4 * getattr(one, name))


@settings(max_examples=15)
@given(SEEDS)
@example(43875)  # the effect of its runs rounds to either side of a whole number of samples
def test_the_order_of_runs_matters_only_to_what_looks_at_it(seed: int) -> None:
    samples = np.tile(a_mesh(seed), (2, 1))
    samples[10:] += np.random.default_rng(seed).integers(1, 99, (10, 200))
    shuffled = np.random.default_rng(seed + 1).permutation(samples)
    for look in DETECTORS:
        if look not in {look_for_moves, look_for_drift_over_runs}:
            one, other = look(Series.of(samples)), look(Series.of(shuffled))
            assert isinstance(one, NotEnough) == isinstance(other, NotEnough)
            if not isinstance(one, NotEnough) and not isinstance(other, NotEnough):
                assert other.p_value == pytest.approx(one.p_value, rel=1e-6, abs=1e-12)


@settings(max_examples=15)
@given(SEEDS)
def test_a_run_without_any_success_is_as_if_it_had_not_been(seed: int) -> None:
    samples = a_mesh(seed)
    with_failure = np.insert(samples, 4, np.nan, axis=0)
    assert detect(with_failure) == detect(samples)


@given(ANYTHING)
def test_a_summary_leaves_nothing_out_but_failures(samples: Samples) -> None:
    summary = summarise(samples)
    known = samples[~np.isnan(samples)]
    if summary is None:
        assert not known.size
        return
    assert summary.samples + summary.failed == samples.size
    assert (summary.min_ns, summary.max_ns) == (known.min(), known.max())
    assert summary.min_ns - 1e-9 <= summary.mean_ns.mean <= summary.max_ns + 1e-9
    values = list(summary.percentiles_ns.values())
    assert values == sorted(values)


def test_the_summary_of_a_known_mesh() -> None:
    samples = np.arange(1.0, 201).reshape(2, 100)
    samples[1, 99] = np.nan
    summary = summarise(samples)
    assert summary is not None
    assert (summary.runs, summary.samples, summary.failed) == (2, 199, 1)
    assert (summary.min_ns, summary.max_ns) == (1, 199)
    assert summary.mean_ns == mean_interval([50.5, 150.0])
    assert summary.deviation_ns == pytest.approx(np.arange(1, 200).std(ddof=1))
    assert summary.percentiles_ns == pytest.approx(
        {10.0: 20.8, 25.0: 50.5, 50.0: 100, 75.0: 149.5, 90.0: 179.2}
    )
