"""Frames that were captured in a trial, as a file that tcpdump and Wireshark read."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.inputs import InputError
from vtax.results.bounds import CAPTURE_BYTES
from vtax.results.files import make_directory, read_file, replace_file

DIRECTORY = "captures"
_NANOSECOND_PCAP, _VERSION, _ETHERNET = 0xA1B23C4D, (2, 4), 1
_LARGEST_SNAP_BYTES = 262_144


@dataclass(frozen=True)
class CapturedFrame:
    """A frame's first bytes; `time_ns` is since 1970, `frame_bytes` what it had in all, without FCS."""

    time_ns: int
    frame_bytes: int
    content: bytes


def capture_path(directory: Path, trial_id: int) -> Path:
    """Where the capture of a trial is in a result."""
    return directory / DIRECTORY / f"{trial_id}.pcap"


def read_capture(directory: Path, trial_id: int) -> bytes | None:
    """Return the file of a trial's capture, None where it has none. InputError where it cannot be read."""
    path = capture_path(directory, trial_id)
    try:
        return read_file(path, CAPTURE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; remove it, or leave out {directory}") from None


def write_capture(directory: Path, trial_id: int, frames: Sequence[CapturedFrame]) -> None:
    """Put a trial's frames on disk in the order of their times; OSError where that fails."""
    path = capture_path(directory, trial_id)
    make_directory(path.parent)
    replace_file(path, pcap(sorted(frames, key=lambda frame: frame.time_ns)))


def pcap(frames: Sequence[CapturedFrame]) -> bytes:
    """The frames in pcap with nanoseconds (draft-ietf-opsawg-pcap), little endian."""
    parts = [struct.pack("<IHHiIII", _NANOSECOND_PCAP, *_VERSION, 0, 0, _LARGEST_SNAP_BYTES, _ETHERNET)]
    for frame in frames:
        seconds, nanoseconds = divmod(frame.time_ns, 1_000_000_000)
        parts += [
            struct.pack("<IIII", seconds, nanoseconds, len(frame.content), frame.frame_bytes),
            frame.content,
        ]
    return b"".join(parts)
