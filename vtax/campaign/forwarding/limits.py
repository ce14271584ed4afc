"""What kept a trial's load below the intended one: the source, its link, or the unit under test.

Told by what happened in the trial: how often the source's socket and queue had no room, and whether its link was full.
The source's calibrated ceiling decides only where those say nothing.
"""

from typing import Any

from vtax.campaign.forwarding.trial import Measured
from vtax.units import fps

OFFERED_TOLERANCE = 0.005
"""Offered load this much below intended counts as below."""
HELD_BACK_FRAMES = 512
"""A queue that found the far ring full at least once in so many frames was held back: a full ring of 256 takes 64 to
256 frames from one such stop to the next."""
BLOCKED_FRAMES = 10
"""A paced source whose socket had no room more than once in so many frames waited for the UUT, or for a full link."""
STALLED_SHARE = 0.8
"""A stream below this share of the source's calibrated ceiling was held back, whatever the counters say."""
LINK_TOLERANCE = 0.98
"""A load above this share of the link's rate fills the link."""


def offered_fps(measured: Measured) -> float:
    """Frames a second that the source sent in the window, all streams together."""
    return frames_sent(measured) / measured.window_s


def limit(
    measured: Measured, stream: dict[str, Any], ceiling_fps: float, link_mbps: float | None
) -> str | None:
    """What kept a stream's load below the intended one: a mark, or None where nothing did.

    `ceiling_fps` is the source's ceiling a stream.
    """
    work, phase = measured.work, measured.phase(stream)
    offered = phase["frames_sent"] / measured.window_s
    if work.intended_fps is not None:
        if offered >= (1 - OFFERED_TOLERANCE) * work.intended_fps:
            return None
        waited = phase["blocked"] * BLOCKED_FRAMES > phase["frames_sent"]
    else:
        waited = False
    if at_link_rate(measured, stream, link_mbps):
        return "link-limited"
    if measured.cell.testbed.is_shared:
        return "generator-limited"  # the switch takes all that comes: the UUT holds nobody back
    if waited or held_back(measured, stream) or offered < STALLED_SHARE * ceiling_fps:
        return "backpressured"
    return "generator-limited"


def at_link_rate(measured: Measured, stream: dict[str, Any], link_mbps: float | None) -> bool:
    """Whether a stream fills its link."""
    if link_mbps is None:
        return False
    offered = measured.phase(stream)["frames_sent"] / measured.window_s
    return bool(offered >= LINK_TOLERANCE * fps(link_mbps, measured.work.lengths.mean))


def held_back(measured: Measured, stream: dict[str, Any]) -> bool:
    """Whether the UUT's ingress, its ring full, stopped the source's queue for much of the run (flow control)."""
    if measured.interfaces is None:
        return False
    name = f"{stream['host']}/src{stream['stream']}"
    before, after = (sample[name] for sample in measured.interfaces)
    return bool(
        (after["held_back"] - before["held_back"]) * HELD_BACK_FRAMES > after["sent"] - before["sent"]
    )


def frames_sent(measured: Measured) -> int:
    """Frames that the source sent in the window, all streams together."""
    return sum(int(measured.phase(stream)["frames_sent"]) for stream in measured.source["streams"])
