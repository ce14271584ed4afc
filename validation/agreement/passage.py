"""Where the time of a tool's round trips goes: requests and answers, as tcpdump captured them at both ends."""

import itertools
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
WARMUP_S = 0.4
"""Left out of vtax's delay and of both tools' round trips alike; it is sockperf's own, which cannot be shortened."""
COOLDOWN_NS = {"sockperf": 50_000_000, "ping": 0}
"""What a tool's own median leaves out at the end."""
RESTED = 0.9
"""Of the period between requests: so long after the one before, a request counts as one that came at its rate.

sockperf, when it is late, catches up: its requests then follow each other within 50 µs, and find the path awake.
"""
LEAST_RESTED = 50
"""Requests that came at their rate, for their median to be one."""
NUMBER_DIGITS = 16
"""Of a sockperf message in hexadecimal: it begins with its number."""

Passages = dict[tuple[str, str, str], int]
"""When a frame passed, by its tool, its number, and the address it comes from."""


@dataclass(frozen=True)
class Parts:
    """Medians of a tool's round trips: to the far end, at it, back from it, and all of it at the near end.

    `rested_ns` is the way there of the requests that came at their rate, as vtax's frames do.
    """

    there_ns: float
    far_end_ns: float
    back_ns: float
    whole_ns: float
    rested_ns: float


def read(file: Path) -> Passages:
    """A capture of `FRAMES`."""
    return parse(decoded(file, *FIELDS))


def parse(lines: Iterable[list[str]]) -> Passages:
    """Passages out of tshark's fields.

    The later of two frames of the same number takes the earlier's place.
    """
    found: Passages = {}
    for epoch, source_ip, echo, payload in lines:
        tool, number = ("ping", echo) if echo else ("sockperf", payload[:NUMBER_DIGITS])
        found[tool, number, source_ip] = at_ns(epoch)
    return found


def parts(tool: str, near: Passages, far: Passages, near_ip: str, far_ip: str, rps: float) -> Parts:
    """Of those round trips that the tool counts and both ends saw whole.

    `rps` requests a second were asked for. Raises ToolFailed where there is none, or too few came at that rate.
    """
    requests = {number: left_ns for (of, number, ip), left_ns in near.items() if (of, ip) == (tool, near_ip)}
    begin_ns = min(requests.values(), default=0) + round(WARMUP_S * 1e9)
    end_ns = max(requests.values(), default=0) - COOLDOWN_NS[tool]
    trips = []
    for number in (number for number, left_ns in requests.items() if begin_ns <= left_ns <= end_ns):
        request, answer = (tool, number, near_ip), (tool, number, far_ip)
        if request in far and answer in far and answer in near:
            trips.append((near[request], far[request], far[answer], near[answer]))
    if not trips:
        raise ToolFailed(f"{tool}: of {len(requests)} requests that were captured none was answered")
    trips.sort()
    left, came, answered, returned = zip(*trips, strict=True)
    least_ns = RESTED * 1e9 / rps
    rested = [trip[:2] for before, trip in itertools.pairwise(trips) if trip[0] - before[0] >= least_ns]
    if len(rested) < LEAST_RESTED:
        raise ToolFailed(f"{tool}: of {len(trips)} requests only {len(rested)} came at the rate asked for")
    return Parts(
        there_ns=_median(left, came),
        far_end_ns=_median(came, answered),
        back_ns=_median(answered, returned),
        whole_ns=_median(left, returned),
        rested_ns=_median(*zip(*rested, strict=True)),
    )


def _median(begins_ns: Iterable[int], ends_ns: Iterable[int]) -> float:
    return statistics.median(end - begin for begin, end in zip(begins_ns, ends_ns, strict=True))
