"""Layer-1 arithmetic between frames and bits a second.

`mbps` counts what a frame costs on an Ethernet wire: the frame itself and 24 bytes of preamble (8),
inter-frame gap (12) and frame check sequence (4), as in the delay formula of schlosser2011, section 3.3.
`frame_bytes` is the Ethernet frame without FCS, as pktgen counts it; the sizes of RFC 2544 are this plus 4. Of a mix it
is the mean.
"""

OVERHEAD_BYTES = 24
"""Bytes on the wire beside `frame_bytes`: preamble, inter-frame gap and FCS."""

HEADER_BYTES = 42
"""Bytes of a frame before its UDP payload: Ethernet 14, IPv4 20, UDP 8."""


def fps(mbps: float, frame_bytes: float) -> float:
    """Frames a second that fill `mbps` of layer 1 with frames of `frame_bytes`."""
    return 1e6 * mbps / (8 * (frame_bytes + OVERHEAD_BYTES))


def mbps(fps: float, frame_bytes: float) -> float:
    """Layer-1 Mbit/s that `fps` frames of `frame_bytes` a second take."""
    return fps * 8 * (frame_bytes + OVERHEAD_BYTES) / 1e6


def gap_ns(mbps: float, frame_bytes: int) -> float:
    """Nanoseconds from one frame's start to the next one's, 8000 (s + 24) / b (schlosser2011, 3.3)."""
    return 8000 * (frame_bytes + OVERHEAD_BYTES) / mbps


def goodput_mbps(fps: float, frame_bytes: float, header_bytes: int = HEADER_BYTES) -> float:
    """Mbit/s of UDP payload that `fps` frames of `frame_bytes` a second carry."""
    return fps * 8 * (frame_bytes - header_bytes) / 1e6
