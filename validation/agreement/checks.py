"""What must hold between vtax and another tool: a row for each platform, quantity and tool."""

import math
import operator
import statistics
from collections.abc import Iterator, Sequence

from validation.agreement.iperf3 import Sent
from validation.agreement.samples import PER_10000, RoundTrips, Samples
from validation.agreement.trials import COUNTS, Flow
from validation.section import Check

Z_999 = 3.29
"""A normal variable lies within so many standard deviations 999 times in 1000."""
CAPTURE_RATE = 0.001
"""A window's edges: the first and last frame of some thousands, each delayed by its own time."""
LAST_LINK_NS = 10_000
"""From where frames leave the UUT, and tcpdump sees them, over the last link to the sink."""
HALF_BUCKET = 1 / 256
"""A delay of vtax is the middle of its histogram's bucket, which is so much of it wide to either side."""
ROUND_TRIP_NS = 10_000
ROUND_TRIP_SHARE, ROUND_TRIP_SHARE_ASLEEP = 0.10, 0.15
"""The greater of the two: a round trip wakes idle CPUs, which takes its time and is not the same from run to run."""
IPERF3_RATE = 0.01
"""As much as is planted to be lost; iperf3 sends by a timer of its own, a millisecond's frames at a time."""


def platform_checks(name: str, samples: Samples, wire: RoundTrips) -> Iterator[Check]:
    """All of one platform's."""
    yield from _capture(name, samples)
    yield from _iperf3(name, samples.loads)
    for tool in ("sockperf", "ping"):
        yield _round_trip(name, tool, samples.round_trips, wire)


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


def _round_trip(name: str, tool: str, path: RoundTrips, wire: RoundTrips) -> Check:
    """A tool's round trip less the end hosts' time, which is what it has beyond vtax's over the first link alone.

    A guest that sleeps, and the CPU under it, is still awake when the answer comes to it. vtax's way back by itself
    wakes both, so that its sum is the most a round trip may take, and its way there the least.
    """
    tools = getattr(path, tool)
    end_hosts = statistics.median(map(operator.sub, getattr(wire, tool), _sums(wire)))
    through = statistics.median(tools) - end_hosts
    there, both = statistics.median(path.there), statistics.median(_sums(path))
    share = ROUND_TRIP_SHARE_ASLEEP if path.sleeps else ROUND_TRIP_SHARE
    tolerance = max(ROUND_TRIP_NS, share * both)
    least, most = (there if path.sleeps else both) - tolerance, both + tolerance
    return Check(
        f"{name}: round trip, {tool}",
        f"vtax there {_median_us(path.there)} and back {_median_us(path.back)}, "
        f"{tool} {_median_us(tools)}, without the end hosts' {_us(end_hosts)} {_us(through)}",
        f"{_us(least)} to {_us(most)}",
        least <= through <= most,
    )


def _sums(trips: RoundTrips) -> list[float]:
    return list(map(operator.add, trips.there, trips.back))


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
