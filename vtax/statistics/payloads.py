"""What HdrHistograms in V2 encoding and base64 hold, of many texts at once: from base64, and out of zlib streams."""

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pybase64
from numpy.typing import NDArray

from vtax.statistics.distributions import Integers

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
OUTER_COOKIE: Final = 0x1C849304
PAYLOAD_BYTES: Final = struct.Struct(">4xI")
STORED: Final = np.dtype(
    [("method", "u1"), ("flags", "u1"), ("block", "u1"), ("length", "<u2"), ("inverted", "<u2")]
)
"""What is before the bytes of a zlib stream of one block that is not compressed."""
DEFLATE, HAS_DICTIONARY, LAST_AND_STORED, CHECKSUM_BYTES = 8, 0x20, 1, 4


@dataclass(frozen=True)
class Pieces:
    """Pieces of `data`, one behind the other: where each begins, and where it ends."""

    data: NDArray[np.uint8]
    begins: Integers
    ends: Integers

    @property
    def lengths(self) -> Integers:
        """Bytes of each."""
        return self.ends - self.begins

    @property
    def joined(self) -> NDArray[np.uint8]:
        """All of them, without what lies between."""
        steps = np.zeros(len(self.data) + 1, np.int8)
        np.add.at(steps, self.begins, 1)
        np.add.at(steps, self.ends, -1)
        return np.asarray(self.data[steps[:-1].cumsum(dtype=np.int8).view(bool)])

    def first(self, kind: np.dtype[np.void]) -> NDArray[np.void] | None:
        """What each begins with, None where one is shorter."""
        if (self.lengths < kind.itemsize).any():
            return None
        found = self.data[self.begins[:, None] + np.arange(kind.itemsize)]
        return np.asarray(found.view(kind)[:, 0])

    def without(self, before: int, behind: int = 0) -> "Pieces":
        """The same without so many bytes of each."""
        return Pieces(self.data, self.begins + before, self.ends - behind)


def payloads_of(encoded: pa.Array) -> Pieces | None:
    """The inner header and the counts of each histogram of an array of texts; None where anything is unusual."""
    streams = _streams(encoded)
    return streams and (_stored(streams) or _inflated(streams))


def without_word_size(cookies: NDArray[np.uint32]) -> Integers:
    """What the first number of a header says beside how wide counts are in memory."""
    return np.asarray(cookies.astype(np.int64) & ~0xF0)


def _streams(encoded: pa.Array) -> Pieces | None:
    """The zlib streams. Padding is read as zeros, so that all texts are one to the decoder."""
    offsets, text = np.frombuffer(encoded.buffers()[1], np.int64), encoded.buffers()[2]
    edges = offsets[encoded.offset : encoded.offset + len(encoded) + 1]
    if encoded.null_count or not len(encoded) or (np.diff(edges) % 4).any():
        return None
    try:
        padded = text.slice(edges[0], edges[-1] - edges[0]).to_pybytes().replace(b"=", b"A")
        data = np.frombuffer(pybase64.b64decode(padded, validate=True), np.uint8)
    except ValueError:
        return None
    ends = (edges[1:] - edges[0]) // 4 * 3
    texts = Pieces(data, np.concatenate([[0], ends[:-1]]), ends)
    headers = texts.first(OUTER)
    if headers is None or not (without_word_size(headers["cookie"]) == OUTER_COOKIE).all():
        return None
    spare = texts.lengths - OUTER.itemsize - headers["stream_bytes"]
    if not ((spare >= 0) & (spare <= 2)).all():
        return None
    return Pieces(data, texts.begins + OUTER.itemsize, ends - spare)


def _stored(streams: Pieces) -> Pieces | None:
    """What is in streams of one block that is not compressed (RFC 1950 and 1951), as sinks write them; else None.

    Their checksums are left alone: the pages of a part have their own.
    """
    headers = streams.first(STORED)
    if headers is None:
        return None
    payloads = streams.without(STORED.itemsize, CHECKSUM_BYTES)
    usual = (
        (headers["method"] & 0x0F == DEFLATE)
        & (headers["flags"] & HAS_DICTIONARY == 0)
        & (headers["block"] == LAST_AND_STORED)
        & (headers["length"] == payloads.lengths)
        & (headers["length"] == ~headers["inverted"])
    )
    return payloads if usual.all() else None


def _inflated(streams: Pieces) -> Pieces | None:
    """What is in the streams, which are one to the decompressor: it needs no Python, and other threads have it."""
    try:
        with pa.CompressedInputStream(pa.BufferReader(streams.joined), "gzip") as opened:
            found = opened.read()
    except OSError:
        return None
    edges, end = [0], 0
    try:
        for _ in range(len(streams.begins)):
            end += INNER.itemsize + PAYLOAD_BYTES.unpack_from(found, end)[0]
            edges.append(end)
    except struct.error:
        return None
    if end != len(found):
        return None
    return Pieces(np.frombuffer(found, np.uint8), np.array(edges[:-1]), np.array(edges[1:]))
