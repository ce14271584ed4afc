"""Round trips as sockperf (UDP, from one program to another) and ping (ICMP, the far kernel answers) see them."""

import contextlib
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from validation.agreement import passage
from validation.agreement.capture import captured
from validation.agreement.ground import Ground
from validation.agreement.process import ToolFailed, run, started
from vtax.units import HEADER_BYTES

TOOLS = ("sockperf", "ping")
ATTEMPTS = 5
SOCKPERF_S = 1
"""The shortest that sockperf takes; its warm-up is within."""
LATENCY = Path("/dev/cpu_dma_latency")
"""Holding it open asks for a latency in microseconds: kernel's admin-guide/pm, PM QoS."""


@dataclass(frozen=True)
class RoundTrip:
    """A tool's median round trip, and what captures at both ends saw of the same round trips."""

    p50_ns: float
    parts: passage.Parts

    @property
    def own_ns(self) -> float:
        """What passes in the near end's sockets and in the tool, outside the capture."""
        return self.p50_ns - self.parts.whole_ns


def measure(
    ground: Ground, capture_cpu: int, frame_bytes: int, rps: float, duration_s: float, directory: Path
) -> dict[str, RoundTrip]:
    """Round trips by each tool, one after the other, captured at both ends; raises ToolFailed.

    sockperf stands still to the end where one message is lost, and may make up for its lateness nearly all the time.
    """
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(ToolFailed):
            return _once(ground, capture_cpu, frame_bytes, rps, duration_s, directory)
    return _once(ground, capture_cpu, frame_bytes, rps, duration_s, directory)


def _once(
    ground: Ground, capture_cpu: int, frame_bytes: int, rps: float, duration_s: float, directory: Path
) -> dict[str, RoundTrip]:
    near, far = ground.near, ground.far
    files = [directory / "near.pcap", directory / "far.pcap"]
    with contextlib.ExitStack() as captures:
        for end, file in zip((near, far), files, strict=True):
            place = (end.host, ground.record, capture_cpu, end.interface)
            captures.enter_context(captured(*place, file, passage.FRAMES))
        with _awake():
            p50_ns = {
                "sockperf": _sockperf_p50_ns(ground, frame_bytes, rps, directory),
                "ping": _ping_p50_ns(ground, frame_bytes, rps, duration_s),
            }
    seen_near, seen_far = (passage.read(file) for file in files)
    return {
        tool: RoundTrip(p50_ns[tool], passage.parts(tool, seen_near, seen_far, near.ip, far.ip, rps))
        for tool in TOOLS
    }


@contextlib.contextmanager
def _awake() -> Iterator[None]:
    """Keep idle CPUs awake while tools wait, as vtax's source does while it sends."""
    with LATENCY.open("wb", buffering=0) as request:
        request.write(bytes(4))
        yield


def _sockperf_p50_ns(ground: Ground, frame_bytes: int, rps: float, directory: Path) -> float:
    """Median round trip of sockperf's ping-pong, `rps` of them a second."""
    where = ["-i", ground.far.ip, "-p", str(passage.SOCKPERF_PORT)]
    message = ["-m", str(frame_bytes - HEADER_BYTES)]
    load = ["-t", str(SOCKPERF_S), f"--mps={rps:g}", "--full-rtt"]
    client = ["sockperf", "ping-pong", *where, *message, *load]
    server = ["sockperf", "server", *where]
    log = directory / "sockperf.log"
    with started(ground.far.host, ground.record, ground.cpu, "to block on socket", log, *server):
        return parse_sockperf(run(ground.near.host, ground.cpu, *client))


def parse_sockperf(told: str) -> float:
    """The median out of what `sockperf ping-pong --full-rtt` prints, microseconds in the text."""
    found = re.search(r"Round trip is .*percentile 50\.000 = +([0-9.]+)", told, re.DOTALL)
    if found is None:
        raise ToolFailed(f"sockperf printed no median of round trips: {told}")
    return float(found[1]) * 1e3


def _ping_p50_ns(ground: Ground, frame_bytes: int, rps: float, duration_s: float) -> float:
    """Median round trip of ping, whose header is as long as UDP's."""
    warmup, count = (round(phase_s * rps) for phase_s in (passage.WARMUP_S, passage.WARMUP_S + duration_s))
    load = ["-i", f"{1 / rps:g}", "-c", str(count), "-s", str(frame_bytes - HEADER_BYTES)]
    return parse_ping(run(ground.near.host, ground.cpu, "ping", "-n", *load, ground.far.ip), warmup)


def parse_ping(told: str, warmup: int) -> float:
    """The median out of what ping prints, milliseconds in the text, without its first `warmup` requests."""
    answered = re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([0-9.]+) ms", told)
    found = [float(value) * 1e6 for number, value in answered if int(number) > warmup]
    if not found:
        raise ToolFailed(f"ping printed no round trip: {told}")
    return statistics.median(found)
