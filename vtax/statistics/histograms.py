"""HdrHistograms in V2 encoding and base64, as results hold them: one at a time, or a column of them at once.

The encoding is that of the HdrHistogram project: base64 of a header and a zlib stream; within that a header of 40
bytes and the counts of the buckets from the lowest on, zigzag LEB128, negative for so many empty buckets in a row.
"""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from vtax.statistics.distributions import Distribution, Distributions, Integers
from vtax.statistics.payloads import INNER, Pieces, payloads_of, without_word_size

ALIKE: Final = ("normalizing_offset", "digits", "lowest", "highest", "conversion_ratio")
"""What histograms that are read together have in common."""
INNER_COOKIE: Final = 0x1C849303
LONGEST_COUNT: Final = 8
"""Bytes; a longer one is encoded otherwise, and left to the library."""
LONGEST_NARROW: Final = 4
"""Bytes that 32 bits have room for."""
MOST_BUCKETS: Final = 2**20
"""More empty ones in a row than any histogram has are left to the library as well."""


def decode(encoded: str) -> Distribution:
    """Read an HdrHistogram in V2 encoding and base64. ValueError where it is none."""
    try:
        histogram = HdrHistogram.decode(encoded)
    except (ValueError, zlib.error, HdrCookieException, HdrLengthException) as error:
        raise ValueError(f"not an HdrHistogram in V2 encoding: {error!r}") from error
    counts = np.frombuffer(histogram.counts, dtype=f"u{histogram.word_size}").astype(np.int64)
    used = np.flatnonzero(counts)
    values = _bucket_values(
        histogram.lowest_trackable_value, histogram.highest_trackable_value, histogram.significant_figures
    )
    return Distribution(values[used], counts[used])


@lru_cache(maxsize=8)
def _bucket_values(lowest: int, highest: int, digits: int) -> NDArray[np.int64]:
    """The highest value of each bucket of such a histogram; kept, because thousands are decoded alike."""
    histogram = HdrHistogram(lowest, highest, digits)
    starts = [histogram.get_value_from_index(index) for index in range(histogram.counts_len)]
    return np.array([histogram.get_highest_equivalent_value(start) for start in starts], dtype=np.int64)


def decode_all(encoded: pa.Array, lost: Sequence[int] | NDArray[np.int64]) -> Distributions:
    """Read many, an array of texts, and what was `lost` beside each. ValueError where one of them is none.

    All at once where they are of one range and precision, as those of a campaign are; else one by one.
    """
    missing = np.asarray(lost, dtype=np.int64)
    found = _all_at_once(encoded)
    if found is None:
        single = Distributions.of([decode(each) for each in encoded.to_pylist()])
        found = single.values, single.counts, single.bounds
    return Distributions(*found, missing)


def _all_at_once(encoded: pa.Array) -> tuple[Integers, Integers, Integers] | None:
    """Values, counts and bounds as of Distributions; None where anything is unusual."""
    payloads = payloads_of(encoded)
    header = None if payloads is None else _common_header(payloads)
    if payloads is None or header is None:
        return None
    of_counts = payloads.without(INNER.itemsize)
    counts = _counts(of_counts.joined, of_counts.lengths)
    if counts is None:
        return None
    buckets, found, bounds = counts
    values = _bucket_values(int(header["lowest"]), int(header["highest"]), int(header["digits"]))
    if buckets.max(initial=-1) >= len(values):
        return None
    return values[buckets], found, bounds


def _common_header(payloads: Pieces) -> np.void | None:
    """What all of them begin with but for their lengths; None where it is not alike, or unusual."""
    headers = payloads.first(INNER)
    if headers is None:
        return None
    first: np.void = headers[0]
    usual = (
        (without_word_size(headers["cookie"]) == INNER_COOKIE).all()
        and (headers["payload_bytes"] == payloads.lengths - INNER.itemsize).all()
        and all((headers[name] == first[name]).all() for name in ALIKE)
        and first["normalizing_offset"] == 0
        and first["conversion_ratio"] == 1
    )
    return first if usual else None


def _counts(
    data: NDArray[np.uint8], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Buckets that are not empty, their counts, and where each histogram's begin, of so many bytes of counts each."""
    edges = np.concatenate([[0], lengths.cumsum()])
    goes_on = data >= 0x80
    if (lengths == 0).any() or goes_on[edges[1:] - 1].any():
        return None
    begins = np.ones(len(data), bool)
    np.logical_not(goes_on[:-1], out=begins[1:])
    low = data[begins]
    is_negative = (low & 1).view(bool)
    # Half as wide is twice as fast: these arrays have an item for each count of all histograms.
    zigzag = (low & 0x7F).astype(np.int32)
    longer, at, place = np.flatnonzero(low >= 0x80), np.flatnonzero(begins & goes_on), 1
    while longer.size:
        if place == LONGEST_COUNT:
            return None
        if place == LONGEST_NARROW:
            zigzag = zigzag.astype(np.int64)
        more = data[at + place]
        zigzag[longer] |= (more & 0x7F).astype(zigzag.dtype) << (7 * place)
        place += 1
        longer, at = longer[more >= 0x80], at[more >= 0x80]
    halves = zigzag >> 1
    steps = halves * is_negative + 1
    if steps.max(initial=0) > MOST_BUCKETS:
        return None
    after = steps.cumsum(dtype=np.int32 if steps.sum(dtype=np.int64) < 2**31 else np.int64)
    items = np.searchsorted(np.flatnonzero(begins), edges)
    used = np.flatnonzero((zigzag != 0) & ~is_negative)
    bounds = np.searchsorted(used, items)
    begin = np.concatenate([[0], after])[items[:-1]]
    buckets = after[used] - 1 - np.repeat(begin, np.diff(bounds))
    return buckets, halves[used].astype(np.int64), bounds
