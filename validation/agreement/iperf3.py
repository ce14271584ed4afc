"""What `iperf3 -u` makes of a load: received rate and loss."""

import json
from dataclasses import dataclass
from pathlib import Path

from validation.agreement.ground import Ground
from validation.agreement.process import ToolFailed, run, started
from vtax.units import HEADER_BYTES, mbps

PORT = 5201


@dataclass(frozen=True)
class Sent:
    """A run of iperf3: datagrams sent and lost, and the rate of those received, on layer 1."""

    frames_sent: int
    frames_lost: int
    received_mbps: float


def measure(ground: Ground, frame_bytes: int, fps: float, duration_s: float, directory: Path) -> Sent:
    """Send frames of a length at a rate from one end to the other by iperf3."""
    near, far = ground.near, ground.far
    payload_bytes = frame_bytes - HEADER_BYTES
    server = ["iperf3", "-s", "-1", "--forceflush", "-B", far.ip, "-p", str(PORT)]
    load = [
        "-u",
        "-l",
        str(payload_bytes),
        "-b",
        str(round(fps * payload_bytes * 8)),
        "-t",
        f"{duration_s:g}",
    ]
    with started(far.host, ground.record, ground.cpu, "Server listening", directory / "iperf3.log", *server):
        told = run(near.host, ground.cpu, "iperf3", "-c", far.ip, "-p", str(PORT), *load, "-J")
    return parse(told, frame_bytes)


def parse(told: str, frame_bytes: int) -> Sent:
    """Read iperf3's JSON.

    Datagrams and losses are the receiver's; bytes and bits a second in the same place are those that were sent.
    """
    try:
        end = json.loads(told)["end"]
        sent, lost = end["sum"]["packets"], end["sum"]["lost_packets"]
        return Sent(sent, lost, mbps((sent - lost) / end["sum_received"]["seconds"], frame_bytes))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolFailed(f"iperf3 printed no result: {error!r}: {told}") from None
