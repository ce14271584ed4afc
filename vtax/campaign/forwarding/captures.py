"""The first frames of a trial as its sink got them."""

from base64 import b64decode

from vtax import agent_api
from vtax.agent_api import SinkCaptureParams
from vtax.campaign.forwarding.passage import Passage
from vtax.results import CapturedFrame


def captured_frames(passage: Passage, stream: int, at_most: int) -> list[CapturedFrame]:
    """The frames that the sink's agent kept of one stream, in the order they came."""
    frames: list[CapturedFrame] = []
    while len(frames) < at_most:
        answer = passage.sink(stream).sink_capture(SinkCaptureParams(stream=stream, first=len(frames)))
        frames += [_frame(frame, answer.clock_offset_ns) for frame in answer.frames]
        if len(frames) >= answer.captured or not answer.frames:
            break
    return frames[:at_most]


def _frame(frame: agent_api.CapturedFrame, offset_ns: int) -> CapturedFrame:
    return CapturedFrame(frame.time_ns + offset_ns, frame.frame_bytes, b64decode(frame.bytes))
