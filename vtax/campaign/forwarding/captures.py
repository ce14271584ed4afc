"""The first frames of a trial as its sink got them."""

from base64 import b64decode
from typing import Any

from vtax.campaign.forwarding.passage import Passage
from vtax.results import CapturedFrame

SNAP_BYTES = 256
"""Of each frame, as many bytes are kept: all that a test frame is made of, and some of its padding."""


def captured_frames(passage: Passage, stream: int, at_most: int) -> list[CapturedFrame]:
    """The frames that the sink's agent kept of one stream, in the order they came."""
    frames: list[CapturedFrame] = []
    while len(frames) < at_most:
        reply = passage.ask_sink(stream, "sink.capture", first=len(frames))
        offset_ns = reply["clock_offset_ns"]
        frames += [_frame(frame, offset_ns) for frame in reply["frames"]]
        if len(frames) >= reply["captured"]:
            break
    return frames[:at_most]


def _frame(frame: dict[str, Any], offset_ns: int) -> CapturedFrame:
    return CapturedFrame(frame["time_ns"] + offset_ns, frame["frame_bytes"], b64decode(frame["bytes"]))
