"""The first frames of a trial as its sink got them."""

from base64 import b64decode

from vtax import agent_api
from vtax.agent_api import MOST_CAPTURED_FRAMES, SinkCaptureParams
from vtax.machine.agent import UNTRUE, AgentBreach
from vtax.machine.series import Part, read_series
from vtax.results import CapturedFrame
from vtax.trial.frames.passage import Passage

LATEST_NS = 2**63
LONGEST_FRAME_BYTES = 1 << 20
"""What a capture may hold: more than the kernel merges."""


def captured_frames(passage: Passage, stream: int, at_most: int) -> list[CapturedFrame]:
    """The frames that the sink's agent kept of one stream, in the order they came."""
    if not at_most:
        return []
    sink = passage.sink(stream)

    def ask(first: int, timeout_s: float) -> Part[CapturedFrame]:
        kept = sink.sink_capture(SinkCaptureParams(stream=stream, first=first), timeout_s)
        try:
            frames = [_frame(frame, kept.clock_offset_ns) for frame in kept.frames]
        except ValueError as error:
            raise AgentBreach(sink.agent, "answered sink.capture", f"frames: {error}", UNTRUE) from None
        return frames, kept.captured

    return read_series(sink.agent, "sink.capture", "frames", MOST_CAPTURED_FRAMES, ask, grows=True)[:at_most]


def _frame(frame: agent_api.CapturedFrame, offset_ns: int) -> CapturedFrame:
    time_ns, kept = frame.time_ns + offset_ns, b64decode(frame.bytes, validate=True)
    if not 0 <= time_ns < LATEST_NS:
        raise ValueError(f"{time_ns} ns is no time of day")
    if not len(kept) <= frame.frame_bytes <= LONGEST_FRAME_BYTES:
        raise ValueError(f"{len(kept)} bytes of a frame of {frame.frame_bytes}")
    return CapturedFrame(time_ns, frame.frame_bytes, kept)
