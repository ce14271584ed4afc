"""HdrHistograms of many trials' delays at once, for results that are made."""

import base64
import struct
import zlib
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

SUB_BUCKET_BITS: Final = 7
LOWEST, HIGHEST, DIGITS = 1, 10_000_000_000, 3
OUTER_COOKIE, INNER_COOKIE = 0x1C849314, 0x1C849313
CONVERSION_RATIO: Final = 1.0


def as_filed(delays_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """What a sink makes of delays: the middle of one of 128 buckets an octave (agent/bpf/delay_bucket.h)."""
    shift = np.maximum(np.floor(np.log2(delays_ns)).astype(int) - SUB_BUCKET_BITS, 0)
    return np.asarray((delays_ns >> shift << shift) + (1 << shift) // 2)


def encode_all(delays_ns: NDArray[np.int64]) -> list[str]:
    """Each row of `delays_ns`, of shape (trials, samples), as the HdrHistogram project's V2 encoding in base64."""
    trials, samples = delays_ns.shape
    buckets = np.sort(np.searchsorted(_highest(), delays_ns), axis=1)
    is_first = np.ones((trials, samples), bool)
    is_first[:, 1:] = buckets[:, 1:] != buckets[:, :-1]
    first = np.flatnonzero(is_first)
    counts = np.diff(np.append(first, buckets.size))
    used, trial = buckets.ravel()[first], first // samples
    begins = np.searchsorted(trial, np.arange(trials))
    gaps = np.diff(used, prepend=0) - 1
    gaps[begins] = used[begins]
    numbers = np.stack([-gaps, counts], axis=1).ravel()
    there = numbers != 0
    of_trial = np.repeat(trial, 2)[there]
    data, sizes = _varints(numbers[there])
    edges = np.searchsorted(of_trial, np.arange(trials + 1))
    ends = np.concatenate([[0], sizes.cumsum()])[edges]
    return [_wrapped(data[begin:end]) for begin, end in pairwise(ends)]


@cache
def _highest() -> NDArray[np.int64]:
    """The highest value of each bucket."""
    histogram = HdrHistogram(LOWEST, HIGHEST, DIGITS)
    starts = [histogram.get_value_from_index(index) for index in range(histogram.counts_len)]
    return np.array([histogram.get_highest_equivalent_value(start) for start in starts])


def _varints(numbers: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
    """Numbers as zigzag LEB128, and how many bytes each takes."""
    zigzag = (numbers << 1) ^ (numbers >> 63)
    sizes = 1 + (zigzag[:, None] >= 1 << 7 * np.arange(1, 8)).sum(axis=1)
    begins = sizes.cumsum() - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    for place in range(int(sizes.max())):
        here = sizes > place
        follows = np.where(sizes[here] > place + 1, 0x80, 0)
        data[begins[here] + place] = (zigzag[here] >> 7 * place) & 0x7F | follows
    return data.tobytes(), sizes


def _wrapped(counts: bytes) -> str:
    header = struct.pack(">IIIIQQd", INNER_COOKIE, len(counts), 0, DIGITS, LOWEST, HIGHEST, CONVERSION_RATIO)
    stream = zlib.compress(header + counts, 0)  # as sinks do
    return base64.b64encode(struct.pack(">II", OUTER_COOKIE, len(stream)) + stream).decode()
