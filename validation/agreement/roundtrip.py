"""Round trips as sockperf (UDP, from one program to another) and ping (ICMP, the far kernel answers) see them."""

import contextlib
import re
import statistics
from pathlib import Path

from validation.agreement.ground import Ground
from validation.agreement.process import ToolFailed, run, started
from vtax.units import HEADER_BYTES

PORT = 11111
ATTEMPTS = 3


def sockperf_p50_ns(
    ground: Ground, frame_bytes: int, rps: float, duration_s: float, directory: Path
) -> float:
    """Median round trip of sockperf's ping-pong, `rps` of them a second."""
    where = ["-i", ground.far.ip, "-p", str(PORT)]
    message = ["-m", str(frame_bytes - HEADER_BYTES)]
    load = ["-t", str(round(duration_s)), f"--mps={rps:g}", "--full-rtt"]
    client = ["sockperf", "ping-pong", *where, *message, *load]
    server = ["sockperf", "server", *where]
    log = directory / "sockperf.log"
    with started(ground.far.host, ground.record, ground.cpu, "to block on socket", log, *server):
        for _ in range(ATTEMPTS - 1):  # one message lost, and its ping-pong stands still to the end
            with contextlib.suppress(ToolFailed):
                return parse_sockperf(run(ground.near.host, ground.cpu, *client))
        return parse_sockperf(run(ground.near.host, ground.cpu, *client))


def parse_sockperf(told: str) -> float:
    """The median out of what `sockperf ping-pong --full-rtt` prints, microseconds in the text."""
    found = re.search(r"Round trip is .*percentile 50\.000 = +([0-9.]+)", told, re.DOTALL)
    if found is None:
        raise ToolFailed(f"sockperf printed no median of round trips: {told}")
    return float(found[1]) * 1e3


def ping_p50_ns(ground: Ground, frame_bytes: int, rps: float, duration_s: float) -> float:
    """Median round trip of ping, whose header is as long as UDP's."""
    load = ["-i", f"{1 / rps:g}", "-c", str(round(duration_s * rps)), "-s", str(frame_bytes - HEADER_BYTES)]
    return parse_ping(run(ground.near.host, ground.cpu, "ping", "-n", *load, ground.far.ip))


def parse_ping(told: str) -> float:
    """The median out of what ping prints, milliseconds in the text."""
    found = [float(value) * 1e6 for value in re.findall(r"icmp_seq=\d+ ttl=\d+ time=([0-9.]+) ms", told)]
    if not found:
        raise ToolFailed(f"ping printed no round trip: {told}")
    return statistics.median(found)
