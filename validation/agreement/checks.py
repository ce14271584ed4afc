"""What must hold between vtax and another tool: a row for each platform, quantity and tool."""

import math
import statistics
from collections.abc import Iterator, Sequence

from validation.agreement.flow import COUNTS, Flow
from validation.agreement.iperf3 import Sent
from validation.agreement.roundtrip import TOOLS
from validation.agreement.samples import PER_10000, RoundTrips, Samples
from validation.section import Check

Z_999 = 3.29
"""A normal variable lies within so many standard deviations 999 times in 1000."""
CAPTURE_RATE = 0.001
"""A window's edges: the first and last frame of some thousands, each delayed by its own time."""
LAST_LINK_NS = 10_000
"""From where frames leave the UUT, and tcpdump sees them, over the last link to the sink."""
HALF_BUCKET = 1 / 256
"""A delay of vtax is the middle of its histogram's bucket, which is so much of it wide to either side."""
BEFORE_CAPTURE_NS = 3_000
"""From vtax's stamp over the system call to the capture where frames leave: 1.7 to 2.4 µs at 1,000 a second."""
SOCKETS_NS = 10_000
"""How much longer a tool's frame may take, which comes out of a socket; it took up to 7 µs longer.

It does so on each link and in forwarding, and all the more the longer the path rested: on raw, with captures at four
interfaces, sockperf's requests took 21, 12 and 7 µs at 200, 1,000 and 5,000 a second, vtax's frames 13, 8 and 5 µs.
"""
WAY_SHARE = 0.15
"""Of vtax's delay, where that is more: waking a guest is not the same from run to run."""
AWAKE_NS = 500
"""Forwarding takes more, awake too: raw's whole way back is 1.2 µs at the least that was captured."""
IPERF3_RATE = 0.01
"""As much as is planted to be lost; iperf3 sends by a timer of its own, a millisecond's frames at a time."""


def platform_checks(name: str, samples: Samples) -> Iterator[Check]:
    """All of one platform's."""
    yield from _capture(name, samples)
    yield from _iperf3(name, samples.loads)
    for tool in TOOLS:
        yield from _round_trip(name, tool, samples.round_trips)


def _capture(name: str, samples: Samples) -> Iterator[Check]:
    flow, seen = samples.flow, samples.seen
    for quantity in COUNTS:
        ours, theirs = getattr(flow, quantity), getattr(seen, quantity)
        measured = f"vtax {ours:,}, tshark {theirs:,}: {ours - theirs:+,}"
        yield Check(f"{name}: frames {quantity}, tshark", measured, "equal", ours == theirs)
    for quantity in ("lost", "duplicated", "reordered"):
        share, tolerance = getattr(flow, quantity) / flow.sent, _share_tolerance(flow.sent)
        bound = f"{PER_10000 / 10_000:.0%} ± {tolerance:.2%} (99.9% of samples of this size)"
        yield Check(
            f"{name}: frames {quantity}, as planted",
            f"vtax {share:.2%}",
            bound,
            abs(share - PER_10000 / 10_000) <= tolerance,
        )
    yield _rate(
        f"{name}: throughput, tshark", "tshark", [flow.received_mbps], [seen.received_mbps], CAPTURE_RATE
    )
    hidden_ns = HALF_BUCKET * flow.delay_p50_ns
    difference_ns = flow.delay_p50_ns - seen.delay_p50_ns
    yield Check(
        f"{name}: delay p50, tshark",
        f"vtax {_us(flow.delay_p50_ns)}, tshark {_us(seen.delay_p50_ns)}: {difference_ns / 1e3:+.1f} µs",
        f"-{_us(hidden_ns)} to +{_us(LAST_LINK_NS + hidden_ns)}",
        -hidden_ns <= difference_ns <= LAST_LINK_NS + hidden_ns,
    )


def _iperf3(name: str, loads: Sequence[tuple[Flow, Sent]]) -> Iterator[Check]:
    ours, theirs = ([load[side].received_mbps for load in loads] for side in (0, 1))
    yield _rate(f"{name}: throughput, iperf3", "iperf3", ours, theirs, IPERF3_RATE)
    sent = [sum(flow.sent for flow, _ in loads), sum(other.frames_sent for _, other in loads)]
    lost = [sum(flow.lost for flow, _ in loads), sum(other.frames_lost for _, other in loads)]
    shares = [part / whole for part, whole in zip(lost, sent, strict=True)]
    pooled = sum(lost) / sum(sent)
    tolerance = Z_999 * math.sqrt(pooled * (1 - pooled) * sum(1 / whole for whole in sent))
    yield Check(
        f"{name}: loss, iperf3",
        f"vtax {shares[0]:.2%} of {sent[0]:,}, iperf3 {shares[1]:.2%} of {sent[1]:,}: {shares[0] - shares[1]:+.2%}",
        f"within ±{tolerance:.2%} (99.9% of pairs of samples of this size)",
        abs(shares[0] - shares[1]) <= tolerance,
    )


def _round_trip(name: str, tool: str, trips: RoundTrips) -> Iterator[Check]:
    """What a tool prints holds what was captured of it, whose two ways through the path are those that vtax finds."""
    whole_ns = [trip[tool].p50_ns for trip in trips.tools]
    own_ns = [trip[tool].own_ns for trip in trips.tools]
    parts = [trip[tool].parts for trip in trips.tools]
    there_ns, back_ns = [part.there_ns for part in parts], [part.back_ns for part in parts]
    far_end_ns = [part.far_end_ns for part in parts]
    yield Check(
        f"{name}: round trip, {tool}",
        f"{tool} {_median_us(whole_ns)}: captured there {_median_us(there_ns)}, at the far end "
        f"{_median_us(far_end_ns)}, back {_median_us(back_ns)}; its own {_median_us(own_ns)}",
        "its own above 0",
        statistics.median(own_ns) > 0,
    )
    yield _way(f"{name}: way there, {tool}", tool, trips.there_ns, there_ns, may_be_awake=False)
    yield _way(f"{name}: way back, {tool}", tool, trips.back_ns, back_ns, may_be_awake=trips.sleeps)


def _way(
    what: str, tool: str, ours_ns: Sequence[float], theirs_ns: Sequence[float], *, may_be_awake: bool
) -> Check:
    """A guest that a tool's request has woken is still awake when the answer comes; vtax's frames always wake it."""
    ours, theirs = statistics.median(ours_ns), statistics.median(theirs_ns)
    share = WAY_SHARE * ours
    least = AWAKE_NS if may_be_awake else max(AWAKE_NS, ours - max(BEFORE_CAPTURE_NS, share))
    most = ours + max(SOCKETS_NS, share)
    return Check(
        what,
        f"vtax {_median_us(ours_ns)}, {tool} {_median_us(theirs_ns)}: {(theirs - ours) / 1e3:+.1f} µs",
        f"{tool} {_us(least)} to {_us(most)}",
        least <= theirs <= most,
    )


def _rate(what: str, tool: str, ours: Sequence[float], theirs: Sequence[float], share: float) -> Check:
    medians = [statistics.median(values) for values in (ours, theirs)]
    difference = medians[0] / medians[1] - 1
    shown = [f"{values[0]:.4f}" if len(values) == 1 else _median(values) for values in (ours, theirs)]
    return Check(
        what,
        f"vtax {shown[0]}, {tool} {shown[1]} Mbit/s: {difference:+.3%}",
        f"within ±{share:.1%}",
        abs(difference) <= share,
    )


def _share_tolerance(frames: int) -> float:
    share = PER_10000 / 10_000
    return Z_999 * math.sqrt(share * (1 - share) / frames)


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f}, n = {len(values)})"


def _median_us(values_ns: Sequence[float]) -> str:
    values = [value / 1e3 for value in values_ns]
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f}) µs"


def _us(value_ns: float) -> str:
    return f"{value_ns / 1e3:.1f} µs"
