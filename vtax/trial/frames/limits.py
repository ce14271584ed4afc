"""What kept a trial's load below the intended one: the source, its link, or the unit under test.

Decided by what happened in the trial: whether the link was full, how long the source waited for room, and how much of
its CPU it used. The source's calibrated ceiling plays no part: trials exceed it, or stay below it, by tens of percent.
"""

from vtax.trial.frames.answers import StreamSent
from vtax.trial.frames.measured import Measured
from vtax.trial.frames.source_time import beside_share, stream_shares, waited_share
from vtax.units import fps

OFFERED_TOLERANCE = 0.005
"""Offered load this much below intended counts as below."""
WAITED_SHARE = 0.1
"""A source that waited for room for this share of the window was held back: what takes its frames was so often full
that the source can do over a tenth more. Shorter waits may come from moments in which the UUT was stopped."""
BUSY_SHARE = 0.9
"""A source that hardly waited and was on its CPU for this share of the window could not do more. The rest is what
others may take of its CPU before the trial is invalid (WAIT_INVALID)."""
HELD_BACK_FRAMES = 512
"""A queue that found the far ring full at least once in so many frames was held back, and probes waited in it: a full
ring of 256 takes 64 to 256 frames from one such stop to the next."""
LINK_TOLERANCE = 0.98
"""A load above this share of the link's rate fills the link."""

GENERATOR_LIMITED, LINK_LIMITED, BACKPRESSURED = "generator-limited", "link-limited", "backpressured"
LIMIT_UNKNOWN, UPLINK_LIMITED = "limit-unknown", "uplink-limited"


def offered_fps(measured: Measured) -> float:
    """Frames a second that the source sent in the window, all streams together."""
    return frames_sent(measured) / measured.window_s


def limit(measured: Measured, stream: StreamSent) -> str | None:
    """Return the mark that names what kept a stream's load below the intended one; None where nothing did."""
    intended = measured.load.intended_fps
    offered = stream.phase().frames_sent / measured.window_s
    if intended is not None and offered >= (1 - OFFERED_TOLERANCE) * intended:
        return None
    if at_link_rate(measured, stream):
        return LINK_LIMITED
    waited, thread = waited_share(stream), stream_shares(measured, stream)
    if waited is None or thread is None:
        return LIMIT_UNKNOWN
    # A source that finds room may still be kept off its CPU: that much of its waiting may be no waiting for room.
    if waited - thread.kept_off >= WAITED_SHARE:
        # The switch before a shared uplink takes all that comes: there the UUT holds nobody back.
        return GENERATOR_LIMITED if measured.cell.testbed.is_shared else BACKPRESSURED
    beside = beside_share(measured, stream)  # the instrument's own work
    taken = max(0.0, thread.kept_off - beside)
    if intended is not None and offered >= (1 - OFFERED_TOLERANCE - taken) * intended:
        return LIMIT_UNKNOWN  # with the CPU time that others took it would have kept its rate
    is_busy = thread.ran + beside >= BUSY_SHARE
    return GENERATOR_LIMITED if is_busy and waited < WAITED_SHARE else LIMIT_UNKNOWN


def at_link_rate(measured: Measured, stream: StreamSent) -> bool:
    """Whether a stream fills its link."""
    if (link_mbps := measured.cell.testbed.link_mbps) is None:
        return False
    offered = stream.phase().frames_sent / measured.window_s
    return offered >= LINK_TOLERANCE * fps(link_mbps, measured.load.lengths.mean)


def held_back(measured: Measured, stream: StreamSent) -> bool:
    """Whether the UUT's ingress, its ring full, stopped the source or its queue for much of the run (flow control)."""
    if measured.interfaces is None:
        return False
    name = f"{stream.host}/src{stream.stream}"
    before, after = (sample[name] for sample in measured.interfaces)
    times = after["held_back"] - before["held_back"] + measured.waits(stream)
    return times * HELD_BACK_FRAMES > after["sent"] - before["sent"]


def frames_sent(measured: Measured) -> int:
    """Frames that the source sent in the window, all streams together."""
    return sum(stream.phase().frames_sent for stream in measured.source.streams)


def waits_for_uplink(measured: Measured) -> bool:
    """Whether what all streams together send fills an uplink that they share."""
    testbed = measured.cell.testbed
    if testbed.link_mbps is None or not testbed.is_shared:
        return False
    return offered_fps(measured) >= LINK_TOLERANCE * fps(testbed.link_mbps, measured.load.lengths.mean)
