"""A column of HdrHistograms read at once is what the library reads one by one."""

import base64
import struct
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.histograms import encode_all
from tests.helpers.results.builder import encode
from vtax.statistics import Distribution, Distributions, decode, decode_all, merge, quantile_interval

DELAYS = st.lists(st.integers(1, 9_000_000_000), max_size=40)
MANY = st.lists(st.tuples(DELAYS, st.integers(0, 40)), min_size=1, max_size=6)


def same(found: Distributions, wanted: list[Distribution]) -> None:
    assert len(found) == len(wanted)
    for at, one in enumerate(wanted):
        part = slice(found.bounds[at], found.bounds[at + 1])
        assert found.values[part].tolist() == one.values.tolist()
        assert found.counts[part].tolist() == one.counts.tolist()
        assert found.lost[at] == one.lost


def stored(text: str) -> str:
    """The same histogram with its stream not compressed, as sinks write them."""
    bytes_ = base64.b64decode(text)
    stream = zlib.compress(zlib.decompress(bytes_[8:]), 0)
    return base64.b64encode(bytes_[:4] + struct.pack(">I", len(stream)) + stream).decode()


def column(encoded: list[str]) -> pa.Array:
    return pa.array(encoded, pa.large_string())


def texts(delays: list[list[int]]) -> list[str]:
    return [encode(np.array(each)) for each in delays]


@given(MANY, st.data())
def test_many_at_once_are_what_each_is_alone(many: list[tuple[list[int], int]], data: st.DataObject) -> None:
    compressed, lost = texts([delays for delays, _ in many]), [missing for _, missing in many]
    as_told = data.draw(st.sampled_from([[True], [False], [True, False]]))
    encoded = [stored(text) if data.draw(st.sampled_from(as_told)) else text for text in compressed]
    alone = [decode(text) for text in encoded]
    wanted = [Distribution(one.values, one.counts, missing) for one, missing in zip(alone, lost, strict=True)]
    same(decode_all(column(encoded), lost), wanted)


def test_counts_of_any_length_are_read() -> None:
    histogram = HdrHistogram(1, 10_000_000_000, 3)
    for power in range(33):
        histogram.record_value(2**power, 3 ** (power // 2) if power % 2 else 2 ** min(power, 31))
    text = histogram.encode().decode()
    same(
        decode_all(column([text, text]), [0, 1]),
        [decode(text), Distribution(decode(text).values, decode(text).counts, 1)],
    )


def test_histograms_of_other_range_and_precision_are_read_beside_each_other() -> None:
    coarse = HdrHistogram(1, 1_000_000, 2)
    coarse.record_value(100)
    encoded = [coarse.encode().decode(), *texts([[5, 5, 70_000]])]
    same(decode_all(column(encoded), [0, 0]), [decode(text) for text in encoded])


@pytest.mark.parametrize("damaged", ["", "x", "AAAA", "no histogram", "AAAAAAAAAAAAAAAA"])
def test_what_is_no_histogram_is_refused(damaged: str) -> None:
    with pytest.raises(ValueError, match="HdrHistogram"):
        decode_all(column([*texts([[5]]), damaged]), [0, 0])


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_byte_that_is_another_gives_an_error_or_a_histogram(place: int, byte: int) -> None:
    """Never anything else: neither a fault nor counts that are another histogram's."""
    whole = stored(texts([[5, 70, 900, 900, 10_000]])[0])
    raw = bytearray(base64.b64decode(whole))
    raw[place % len(raw)] = byte
    encoded = column([whole, base64.b64encode(raw).decode(), whole])
    try:
        found = decode_all(encoded, [0, 0, 0])
    except ValueError as error:
        assert "HdrHistogram" in str(error)
        return
    for at in (0, 2):
        assert found.values[found.bounds[at] : found.bounds[at + 1]].tolist() == decode(whole).values.tolist()


def test_a_slice_of_a_column_is_read() -> None:
    encoded = texts([[5], [70, 70], [900]])
    for each in (encoded, [stored(text) for text in encoded]):
        same(decode_all(column(each)[1:], [0, 0]), [decode(text) for text in encoded[1:]])


def test_nothing_is_no_histograms() -> None:
    assert len(decode_all(column([]), [])) == 0


@given(MANY, st.sampled_from([0.05, 0.5, 0.9]))
def test_quantiles_of_many_are_those_of_each(many: list[tuple[list[int], int]], q: float) -> None:
    each = [Distribution(*counted(delays), lost) for delays, lost in many]
    found = Distributions.of(each).quantiles(q)
    assert [None if np.isnan(one) else one for one in found] == [one.quantile(q) for one in each]
    assert Distributions.of(each).lie_in_the_lost(q).tolist() == [one.lies_in_the_lost(q) for one in each]


@given(MANY, st.data())
def test_those_that_are_kept_are_as_before(many: list[tuple[list[int], int]], data: st.DataObject) -> None:
    each = [Distribution(*counted(delays), lost) for delays, lost in many]
    kept = data.draw(st.lists(st.booleans(), min_size=len(each), max_size=len(each)))
    left = [one for one, keep in zip(each, kept, strict=True) if keep]
    same(Distributions.of(each).where(np.array(kept)), left)


@given(MANY, st.data())
def test_those_of_a_group_are_merged(many: list[tuple[list[int], int]], data: st.DataObject) -> None:
    each = [Distribution(*counted(delays), lost) for delays, lost in many]
    steps = data.draw(st.lists(st.booleans(), min_size=len(each) - 1, max_size=len(each) - 1))
    groups = np.cumsum([0, *steps])
    merged = [
        merge([one for one, own in zip(each, groups, strict=True) if own == group])
        for group in range(groups[-1] + 1)
    ]
    same(Distributions.of(each).together(groups), merged)


@given(st.lists(st.lists(st.integers(1, 10**9), min_size=20, max_size=40), min_size=2, max_size=5))
@settings(max_examples=50)
def test_a_typical_quantile_is_the_geometric_mean_of_each_one_s(many: list[list[int]]) -> None:
    """Each one's lies at rank (n + 1/3) q + 1/3, of samples spread evenly over buckets of 1/128 octave."""
    each = [Distribution(*counted(delays)) for delays in many]
    found = quantile_interval(each, 0.5)
    assert found is not None
    logarithms = []
    for delays in many:
        values = spread(sorted(delays))
        rank = 0.5 * (len(values) + 1 / 3) + 1 / 3 - 1
        below, share = int(rank), rank - int(rank)
        logarithms.append((1 - share) * np.log(values[below]) + share * np.log(values[below + 1]))
    assert found.mean == pytest.approx(np.exp(np.mean(logarithms)), rel=1e-6)


def counted(delays: list[int]) -> tuple[np.ndarray, np.ndarray]:
    values, counts = np.unique(np.array(delays, dtype=np.int64), return_counts=True)
    return values, counts.astype(np.int64)


def spread(values: list[int]) -> list[float]:
    found = []
    for at, value in enumerate(values):
        same_value = values.count(value)
        place = at - values.index(value)
        width = max(1.0, 2.0 ** np.floor(np.log2(value)) / 128)
        found.append(max(0.5, value + ((place + 0.5) / same_value - 0.5) * width))
    return found


def test_results_that_are_made_have_histograms_of_their_delays() -> None:
    delays = np.random.default_rng(1).lognormal(9, 2, (20, 50)).astype(np.int64) + 1
    same(decode_all(column(encode_all(delays)), [0] * 20), [decode(encode(row)) for row in delays])
