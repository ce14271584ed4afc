"""Where the time of a tool's round trips goes: requests and answers, as tcpdump captured them at both ends."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from validation.agreement.capture import at_ns, decoded
from validation.agreement.process import ToolFailed

SOCKPERF_PORT = 11111
FRAMES = f"icmp[icmptype] == icmp-echo or icmp[icmptype] == icmp-echoreply or udp port {SOCKPERF_PORT}"
"""What to capture: ping's frames and sockperf's."""
FIELDS = ("frame.time_epoch", "ip.src", "icmp.seq", "udp.payload")
LEFT_OUT_NS = {"sockperf": (400_000_000, 50_000_000), "ping": (0, 0)}
"""What a tool's own median leaves out: sockperf's warm-up and cool-down."""
NUMBER_DIGITS = 16
"""Of a sockperf message in hexadecimal: it begins with its number."""

Passages = dict[tuple[str, str, str], int]
"""When a frame passed, by its tool, its number, and the address it comes from."""


@dataclass(frozen=True)
class Parts:
    """Medians of a tool's round trips: to the far end, at it, back from it, and all of it at the near end."""

    there_ns: float
    far_end_ns: float
    back_ns: float
    whole_ns: float


def read(file: Path) -> Passages:
    """A capture of `FRAMES`."""
    return parse(decoded(file, *FIELDS))


def parse(lines: Iterable[list[str]]) -> Passages:
    """Passages out of tshark's fields.

    What a tool sent again under a number that it had used before (sockperf, begun anew) takes the earlier's place.
    """
    found: Passages = {}
    for epoch, source_ip, echo, payload in lines:
        tool, number = ("ping", echo) if echo else ("sockperf", payload[:NUMBER_DIGITS])
        found[tool, number, source_ip] = at_ns(epoch)
    return found


def parts(tool: str, near: Passages, far: Passages, near_ip: str, far_ip: str) -> Parts:
    """Of those round trips that the tool counts and both ends saw whole; raises ToolFailed where there is none."""
    requests = {number: left_ns for (of, number, ip), left_ns in near.items() if (of, ip) == (tool, near_ip)}
    warmup_ns, cooldown_ns = LEFT_OUT_NS[tool]
    begin_ns = min(requests.values(), default=0) + warmup_ns
    end_ns = max(requests.values(), default=0) - cooldown_ns
    trips = []
    for number in (number for number, left_ns in requests.items() if begin_ns <= left_ns <= end_ns):
        request, answer = (tool, number, near_ip), (tool, number, far_ip)
        if request in far and answer in far and answer in near:
            trips.append((near[request], far[request], far[answer], near[answer]))
    if not trips:
        raise ToolFailed(f"{tool}: of {len(requests)} requests that were captured none was answered")
    left, came, answered, returned = zip(*trips, strict=True)
    return Parts(
        _median(left, came), _median(came, answered), _median(answered, returned), _median(left, returned)
    )


def _median(begins_ns: Iterable[int], ends_ns: Iterable[int]) -> float:
    return statistics.median(end - begin for begin, end in zip(begins_ns, ends_ns, strict=True))
