"""Quantiles of real HdrHistograms: right to the histogram's precision, and with honest intervals."""

import base64
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.results.builder import encode
from vtax.statistics import Distribution, decode, merge, quantile_interval, samples_needed

DELAYS = st.lists(st.integers(1, 9_000_000_000), min_size=1, max_size=300)


def exact(delays: list[int]) -> Distribution:
    values, counts = np.unique(np.array(delays, dtype=np.int64), return_counts=True)
    return Distribution(values, counts.astype(np.int64))


def filed(delays_ns: "np.ndarray[Any, np.dtype[np.float64]]") -> Distribution:
    """As the sink files them: by the middles of its buckets."""
    widths = 2.0 ** (np.floor(np.log2(delays_ns)) - 7)
    return exact(((np.floor(delays_ns / widths) + 0.5) * widths).astype(int).tolist())


@given(DELAYS, st.sampled_from([0.05, 0.5, 0.9]))
def test_a_quantile_is_the_samples_to_three_digits(delays: list[int], q: float) -> None:
    distribution = decode(encode(np.array(delays)))
    assert distribution.samples == len(delays)
    found = distribution.quantile(q)
    if len(delays) < samples_needed(q):
        assert found is None
    else:
        true = float(np.quantile(delays, q, method="inverted_cdf"))
        assert found is not None
        assert true <= found <= true * 1.001 + 1


@given(DELAYS)
def test_a_deviation_is_the_samples_to_three_digits(delays: list[int]) -> None:
    found = decode(encode(np.array(delays))).deviation
    if len(delays) < 2:
        assert found is None
    else:
        assert found == pytest.approx(np.std(delays, ddof=1), abs=1.5 * (1 + 0.001 * max(delays)))


@given(st.lists(DELAYS, max_size=4))
def test_merging_is_counting_all_samples_together(parts: list[list[int]]) -> None:
    merged = merge([decode(encode(np.array(part))) for part in parts])
    together = [delay for part in parts for delay in part]
    assert merged.samples == len(together)
    if together:
        whole = decode(encode(np.array(together)))
        assert merged.values.tolist() == whole.values.tolist()
        assert merged.counts.tolist() == whole.counts.tolist()


def test_histograms_of_other_range_and_precision_merge() -> None:
    coarse = HdrHistogram(1, 1_000_000, 2)
    for value in range(100, 200):
        coarse.record_value(value)
    merged = merge([decode(coarse.encode().decode()), exact(list(range(200, 300)))])
    assert merged.samples == 200
    assert merged.quantile(0.5) == pytest.approx(199, rel=0.01)


@pytest.mark.parametrize(("q", "samples"), [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000)])
def test_a_quantile_is_shown_from_ten_samples_beyond_it(q: float, samples: int) -> None:
    assert samples_needed(q) == samples
    assert exact(list(range(1, samples))).quantile(q) is None
    assert exact(list(range(1, samples + 1))).quantile(q) == round(q * samples)
    assert quantile_interval([exact(list(range(1, samples)))], q) is None


QUANTILES = st.sampled_from([0.05, 0.5, 0.9])
LOST = st.integers(0, 400)


def losing(found: Distribution, lost: int) -> Distribution:
    return Distribution(found.values, found.counts, lost)


@given(DELAYS, LOST, QUANTILES)
def test_a_lost_probe_counts_as_an_infinite_delay(delays: list[int], lost: int, q: float) -> None:
    found = losing(exact(delays), lost)
    sent = len(delays) + lost
    if sent < samples_needed(q) or (lost and lost / sent >= 1 - q - 1e-9):
        assert found.quantile(q) is None
    else:
        both = [*map(float, delays), *[float("inf")] * lost]
        assert found.quantile(q) == float(np.quantile(both, q, method="inverted_cdf"))


@given(DELAYS, LOST, LOST, QUANTILES)
def test_losing_more_never_lowers_a_quantile(delays: list[int], lost: int, more: int, q: float) -> None:
    before, after = losing(exact(delays), lost), losing(exact(delays), lost + more)
    if (first := before.quantile(q)) is not None and (second := after.quantile(q)) is not None:
        assert second >= first
    if before.lies_in_the_lost(q):
        assert after.quantile(q) is None


@given(st.lists(DELAYS, min_size=2, max_size=5), st.integers(2, 9))
@settings(max_examples=50)
def test_the_unit_scales_a_quantile_and_its_bounds(parts: list[list[int]], factor: int) -> None:
    here = quantile_interval([exact(part) for part in parts], 0.5)
    there = quantile_interval([exact([factor * delay for delay in part]) for part in parts], 0.5)
    assert (here is None) == (there is None)
    if here and there and here.low is not None and here.high is not None:
        assert (there.mean, there.low, there.high) == pytest.approx(
            (factor * here.mean, factor * here.low, factor * here.high),
            rel=0.01,  # what is spread over a bucket does not scale with it
            abs=factor,
        )


@given(st.lists(st.tuples(DELAYS, LOST), min_size=1, max_size=5), QUANTILES)
@settings(max_examples=50)
def test_a_repetition_without_a_quantile_leaves_the_merged_one_without_bounds(
    parts: list[tuple[list[int], int]], q: float
) -> None:
    repetitions = [losing(exact(delays), lost) for delays, lost in parts]
    merged = merge(repetitions)
    assert merged.lost == sum(lost for _, lost in parts)
    found = quantile_interval(repetitions, q)
    if found is None:
        assert merged.quantile(q) is None
    elif found.low is None:
        assert found.mean == merged.quantile(q) or len(parts) == 1
    else:
        assert found.high is not None
        assert found.low < found.mean <= found.high
        assert merged.values[0] * 0.99 - 1 <= found.mean <= merged.values[-1] * 1.01 + 1


def test_a_bound_among_the_lost_is_no_bound() -> None:
    whole = exact(list(range(1, 101)))
    repetitions = [whole, whole, losing(exact([]), 100)]
    found = quantile_interval(repetitions, 0.5)
    assert found is not None
    assert (found.mean, found.low, found.high, found.n) == (75.0, None, None, 3)
    assert quantile_interval([losing(exact([]), 100)], 0.5) is None


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, 99.0])
def test_what_is_no_quantile_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        samples_needed(q)


def test_a_quantile_between_two_samples_is_the_upper_one() -> None:
    assert exact(list(range(1, 22))).quantile(0.5) == 11
    assert exact(list(range(1, 102))).quantile(0.9) == 91


def test_no_or_empty_repetitions_have_no_quantile() -> None:
    empty = decode(HdrHistogram(1, 1000, 3).encode().decode())
    assert empty.samples == 0
    assert quantile_interval([], 0.5) is None
    assert quantile_interval([empty], 0.5) is None


def test_one_repetition_has_no_interval_and_equal_ones_that_of_a_bucket() -> None:
    delays = exact(list(range(1, 102)))
    one = quantile_interval([delays], 0.5)
    three = quantile_interval([delays] * 3, 0.5)
    assert one is not None
    assert (one.mean, one.low, one.high, one.n) == (pytest.approx(51), None, None, 1)
    assert three is not None
    hidden = 0.5 / 101 / 51  # a hundredth of the delays are in the median's bucket
    assert (three.mean, three.low, three.high) == pytest.approx((51, 51 * (1 - hidden), 51 * (1 + hidden)))
    assert three.n == 3


def test_the_interval_is_students_of_the_logarithms() -> None:
    """Medians of 10, 20 and 40 µs: 20 times 2 to the power of 0 ± 4.303 / √3; all delays are in one bucket."""
    found = quantile_interval([exact([median] * 21) for median in (10_000, 20_000, 40_000)], 0.5)
    reach, hidden = 2 ** (4.302653 / 3**0.5), 0.0032
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx(
        (20_000, 20_000 / reach * (1 - hidden), 20_000 * reach * (1 + hidden))
    )


def test_delays_are_spread_over_their_bucket() -> None:
    """Of delays that are all in the bucket of 16384 to 16511 ns, the 90% quantile is nine tenths up."""
    found = quantile_interval([exact([16_448] * 1000)] * 3, 0.9)
    assert found is not None
    assert found.mean == pytest.approx(16_384 + 0.9 * 128, abs=1)
    assert found.low is not None
    assert found.high is not None
    assert (found.low, found.high) == pytest.approx((found.mean - 64, found.mean + 64), abs=1)


@pytest.mark.parametrize(("n", "cv"), [(3, 0.05), (9, 0.05), (9, 0.0)])
def test_a_quantile_interval_covers(n: int, cv: float) -> None:
    """Of 500 intervals over repetitions that differ by 5% or not, 95% hold the true median."""
    rng = np.random.default_rng(8)
    covered = []
    for _ in range(500):
        medians_ns = 20_000 * rng.lognormal(0, cv, n)
        drawn = (rng.lognormal(np.log(median), 0.3, 500) for median in medians_ns)
        repetitions = [filed(delays) for delays in drawn]
        found = quantile_interval(repetitions, 0.5)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= 20_000 <= found.high)
    assert abs(np.mean(covered) - 0.95) < 4 * (0.95 * 0.05 / 500) ** 0.5


def test_a_far_quantile_has_no_bias_that_repetitions_share() -> None:
    """Of 4000 repetitions with 1000 delays each: within a twelfth of what one repetition's quantile is off by."""
    rng = np.random.default_rng(9)
    repetitions = [filed(delays) for delays in rng.lognormal(np.log(20_000), 0.3, (4000, 1000))]
    found = quantile_interval(repetitions, 0.99)
    assert found is not None
    off = 0.3 * (0.99 * 0.01 / 1000) ** 0.5 / 0.02665  # the normal density at its 99% quantile
    assert abs(np.log(found.mean / 20_000) - 0.3 * 2.32635) < off / 12


REAL = base64.b64decode(encode(np.arange(1, 1000)))


@given(st.integers(0, len(REAL) - 1), st.integers(0, 255))
def test_a_damaged_histogram_is_refused_or_reads_as_some_histogram(place: int, byte: int) -> None:
    damaged = bytearray(REAL)
    damaged[place] = byte
    try:
        found = decode(base64.b64encode(damaged).decode())
    except ValueError as error:
        assert "not an HdrHistogram" in str(error)
    else:
        assert found.samples >= 0


@given(st.text(max_size=60))
def test_text_that_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an HdrHistogram"):
        decode(text)
