"""HdrHistograms in V2 encoding and base64, as results hold them: one at a time, or a column of them at once.

The encoding is that of the HdrHistogram project: base64 of a header and a zlib stream; within that a header of 40
bytes and the counts of the buckets from the lowest on, zigzag LEB128, negative for so many empty buckets in a row.
"""

import binascii
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from vtax.statistics.distributions import Distribution, Distributions

OUTER: Final = np.dtype([("cookie", ">u4"), ("stream_bytes", ">u4")])
INNER: Final = np.dtype(
    [
        ("cookie", ">u4"),
        ("payload_bytes", ">u4"),
        ("normalizing_offset", ">u4"),
        ("digits", ">u4"),
        ("lowest", ">u8"),
        ("highest", ">u8"),
        ("conversion_ratio", ">f8"),
    ]
)
OUTER_COOKIE, INNER_COOKIE = 0x1C849304, 0x1C849303
LONGEST_COUNT: Final = 8
"""Bytes; a longer one is encoded otherwise, and left to the library."""


def decode(encoded: str) -> Distribution:
    """Read an HdrHistogram in V2 encoding and base64. ValueError where it is none."""
    try:
        histogram: Any = HdrHistogram.decode(encoded)
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
    histogram: Any = HdrHistogram(lowest, highest, digits)
    starts = [histogram.get_value_from_index(index) for index in range(histogram.counts_len)]
    return np.array([histogram.get_highest_equivalent_value(start) for start in starts], dtype=np.int64)


def decode_all(encoded: Sequence[str], lost: Sequence[int] | NDArray[np.int64]) -> Distributions:
    """Read many, and what was `lost` beside each. ValueError where one of them is none.

    All at once where they are of one range and precision, as those of a campaign are; else one by one.
    """
    missing = np.asarray(lost, dtype=np.int64)
    found = _all_at_once(encoded)
    if found is None:
        single = Distributions.of([decode(each) for each in encoded])
        found = single.values, single.counts, single.bounds
    return Distributions(*found, missing)


def _all_at_once(
    encoded: Sequence[str],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Values, counts and bounds as of Distributions; None where anything is unusual."""
    payloads = _payloads(encoded)
    if not payloads:
        return None
    headers = np.frombuffer(b"".join(each[: INNER.itemsize] for each in payloads), INNER)
    lengths = np.array([len(each) - INNER.itemsize for each in payloads])
    alike = [headers[name] == headers[name][0] for name in INNER.names or () if name != "payload_bytes"]
    usual = (_without_word_size(headers["cookie"]) == INNER_COOKIE) & (headers["payload_bytes"] == lengths)
    usual &= np.all(alike, axis=0)
    first = headers[0]
    if not usual.all() or first["normalizing_offset"] != 0 or first["conversion_ratio"] != 1:
        return None
    counts = _counts(np.frombuffer(b"".join(each[INNER.itemsize :] for each in payloads), np.uint8), lengths)
    if counts is None:
        return None
    buckets, found, bounds = counts
    values = _bucket_values(int(first["lowest"]), int(first["highest"]), int(first["digits"]))
    if buckets.max(initial=-1) >= len(values):
        return None
    return values[buckets], found, bounds


def _payloads(encoded: Sequence[str]) -> list[bytes] | None:
    """What is in the zlib streams. Padding is read as zeros, so that all texts are one to the decoder."""
    lengths = np.array([len(each) for each in encoded], dtype=np.int64)
    if not len(lengths) or (lengths % 4).any() or lengths.min() < 12:
        return None
    ends = (lengths // 4 * 3).cumsum()
    begins = ends - lengths // 4 * 3
    try:
        whole = binascii.a2b_base64("".join(encoded).replace("=", "A"), strict_mode=True)
        data = np.frombuffer(whole, np.uint8)
        headers = data[begins[:, None] + np.arange(OUTER.itemsize)].copy().view(OUTER)[:, 0]
        spare = ends - begins - OUTER.itemsize - headers["stream_bytes"]
        usual = (_without_word_size(headers["cookie"]) == OUTER_COOKIE) & (spare >= 0) & (spare <= 2)
        if not usual.all():
            return None
        streams = zip((begins + OUTER.itemsize).tolist(), ends.tolist(), strict=True)
        payloads = [zlib.decompress(whole[begin:end]) for begin, end in streams]
    except (ValueError, zlib.error):
        return None
    return payloads if all(len(each) >= INNER.itemsize for each in payloads) else None


def _without_word_size(cookies: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.asarray(cookies.astype(np.int64) & ~0xF0)


def _counts(
    data: NDArray[np.uint8], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Buckets that are not empty, their counts, and where each histogram's begin, of so many bytes of counts each."""
    ends = np.flatnonzero(data < 0x80)
    edges = np.concatenate([[0], lengths.cumsum()])
    if (lengths == 0).any() or (data[edges[1:] - 1] >= 0x80).any():
        return None
    begins = np.concatenate([[0], ends[:-1] + 1])
    sizes = ends - begins + 1
    if sizes.max() > LONGEST_COUNT:
        return None
    zigzag = (data[begins] & 0x7F).astype(np.int64)
    longer, place = np.flatnonzero(sizes > 1), 1
    while longer.size:
        zigzag[longer] |= (data[begins[longer] + place] & 0x7F).astype(np.int64) << (7 * place)
        place += 1
        longer = longer[sizes[longer] > place]
    numbers = (zigzag >> 1) ^ -(zigzag & 1)
    items = np.searchsorted(ends, edges)
    before = np.concatenate([[0], np.where(numbers < 0, -numbers, 1).cumsum()])
    buckets = before[:-1] - np.repeat(before[items[:-1]], np.diff(items))
    used = numbers > 0
    bounds = np.concatenate([[0], used.cumsum()])[items]
    return buckets[used], numbers[used], bounds
