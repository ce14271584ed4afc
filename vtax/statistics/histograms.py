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
import pyarrow as pa
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
MOST_BUCKETS: Final = 2**20
"""More empty ones in a row than any histogram has are left to the library as well."""


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
    if payloads is None:
        return None
    data, edges = payloads
    at_header = edges[:-1, None] + np.arange(INNER.itemsize)
    headers = data[at_header].view(INNER)[:, 0]
    alike = [headers[name] == headers[name][0] for name in INNER.names or () if name != "payload_bytes"]
    usual = (_without_word_size(headers["cookie"]) == INNER_COOKIE) & np.all(alike, axis=0)
    first = headers[0]
    if not usual.all() or first["normalizing_offset"] != 0 or first["conversion_ratio"] != 1:
        return None
    is_count = np.ones(len(data), bool)
    is_count[at_header] = False
    counts = _counts(data[is_count], np.diff(edges) - INNER.itemsize)
    if counts is None:
        return None
    buckets, found, bounds = counts
    values = _bucket_values(int(first["lowest"]), int(first["highest"]), int(first["digits"]))
    if buckets.max(initial=-1) >= len(values):
        return None
    return values[buckets], found, bounds


def _payloads(encoded: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
    """What is in the zlib streams, one behind the other, and where each begins.

    Padding is read as zeros, so that all texts are one to the decoder. The streams are one to the decompressor, too,
    which then needs no Python and lets other threads have it.
    """
    lengths = np.array([len(each) for each in encoded], dtype=np.int64)
    if not len(lengths) or (lengths % 4).any() or lengths.min() < 12:
        return None
    ends = (lengths // 4 * 3).cumsum()
    begins = ends - lengths // 4 * 3
    try:
        whole = binascii.a2b_base64("".join(encoded).replace("=", "A"), strict_mode=True)
        data = np.frombuffer(whole, np.uint8)
        headers = data[begins[:, None] + np.arange(OUTER.itemsize)].view(OUTER)[:, 0]
        spare = ends - begins - OUTER.itemsize - headers["stream_bytes"]
        usual = (_without_word_size(headers["cookie"]) == OUTER_COOKIE) & (spare >= 0) & (spare <= 2)
        if not usual.all():
            return None
        streams = zip((begins + OUTER.itemsize).tolist(), (ends - spare).tolist(), strict=True)
        together = b"".join([whole[begin:end] for begin, end in streams])
        with pa.CompressedInputStream(pa.BufferReader(together), "gzip") as opened:
            found = opened.read()
    except (ValueError, OSError):
        return None
    edges = [0]
    for _ in encoded:
        header = found[edges[-1] : edges[-1] + INNER.itemsize]
        edges.append(edges[-1] + INNER.itemsize + int.from_bytes(header[4:8], "big"))
    return (np.frombuffer(found, np.uint8), np.array(edges)) if edges[-1] == len(found) else None


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
    # Half as wide is twice as fast: these arrays have an item for each count of all histograms.
    width = np.int32 if sizes.max() <= 4 and len(data) < 2**27 else np.int64
    zigzag = (data[begins] & 0x7F).astype(width)
    longer, place = np.flatnonzero(sizes > 1), 1
    while longer.size:
        zigzag[longer] |= (data[begins[longer] + place] & 0x7F).astype(width) << (7 * place)
        place += 1
        longer = longer[sizes[longer] > place]
    halves, is_negative = zigzag >> 1, (zigzag & 1).astype(bool)
    if halves[is_negative].max(initial=0) > MOST_BUCKETS:
        return None
    items = np.searchsorted(ends, edges)
    after = np.where(is_negative, halves + 1, 1).cumsum(dtype=np.int64)
    used = np.flatnonzero(~is_negative & (halves > 0))
    bounds = np.searchsorted(used, items)
    begin = np.concatenate([[0], after])[items[:-1]]
    buckets = after[used] - 1 - np.repeat(begin, np.diff(bounds))
    return buckets, halves[used].astype(np.int64), bounds
