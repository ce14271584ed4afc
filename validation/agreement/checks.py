"""What must hold between vtax and another tool: a row for each platform, quantity and tool."""

import math
import statistics
from collections.abc import Iterator, Sequence

from validation.agreement.flow import COUNTS, Flow
from validation.agreement.iperf3 import Sent
from validation.agreement.roundtrip import TOOLS
from validation.agreement.samples import RoundTrips, Samples
from validation.agreement.trials import OneWay
from validation.equivalence import Budget, median_interval, microseconds, refuting
from validation.section import Check

Z_999 = 3.29
"""A normal variable lies within so many standard deviations 999 times in 1000."""
CAPTURE_RATE = 0.001
"""A window's edges: the first and last frame of some thousands, each delayed by its own time."""
LAST_LINK_NS = 10_000
"""From where frames leave the UUT, and tcpdump sees them, over the last link to the sink."""
HALF_BUCKET = 1 / 256
"""A delay of vtax is the middle of its histogram's bucket, which is so much of it wide to either side."""
SOCKETS_NS = 10_000
"""How much longer a tool's frame may take, which comes out of a socket; it took up to 7 µs longer.

It does so on each link and in forwarding, and all the more the longer the path rested: on raw, with captures at four
interfaces, sockperf's requests took 21, 12 and 7 µs at 200, 1,000 and 5,000 a second, vtax's frames 13, 8 and 5 µs.
"""
WAY_SHARE = 0.15
"""Of vtax's delay, where that is more: waking a guest is not the same from run to run."""
LESS_NS = 3_000
"""By how much less a tool's request may take than vtax's frame; set by judgement, no measurement gives it."""
COMPARED = 16
"""Rows of ways: four platforms, two ways, two tools."""
REFUTED = refuting(COMPARED)
IPERF3_RATE = 0.01
"""As much as is planted to be lost; iperf3 sends by a timer of its own, a millisecond's frames at a time."""


def platform_checks(name: str, samples: Samples) -> Iterator[Check]:
    """All of one platform's."""
    yield from _capture(name, samples)
    yield from _iperf3(name, samples.loads)
    for way, trips in (("there", samples.there), ("back", samples.back)):
        for tool in TOOLS:
            yield from _round_trip(name, way, tool, trips)


def _capture(name: str, samples: Samples) -> Iterator[Check]:
    flow, seen = samples.flow, samples.seen
    for quantity in COUNTS:
        ours, theirs = getattr(flow, quantity), getattr(seen, quantity)
        measured = f"vtax {ours:,}, tshark {theirs:,}: {ours - theirs:+,}"
        yield Check(f"{name}: frames {quantity}, tshark", measured, "equal", ours == theirs)
    planted = {
        "lost": samples.planted.lost,
        "duplicated": samples.planted.twice,
        "reordered": samples.planted.late,
    }
    for quantity, truth in planted.items():
        ours = getattr(flow, quantity)
        measured = f"vtax {ours:,}, planted {truth:,}: {ours - truth:+,}"
        yield Check(f"{name}: frames {quantity}, as planted", measured, "equal", ours == truth)
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


def _round_trip(name: str, way: str, tool: str, trips: RoundTrips) -> Iterator[Check]:
    """What a tool prints holds what was captured of it; its requests cross the path as vtax's frames do."""
    whole_ns = [trip[tool].p50_ns for trip in trips.tools]
    own_ns = [trip[tool].own_ns for trip in trips.tools]
    parts = [trip[tool].parts for trip in trips.tools]
    there_ns, back_ns = [part.there_ns for part in parts], [part.back_ns for part in parts]
    far_end_ns = [part.far_end_ns for part in parts]
    begun = "" if way == "there" else " from the sink's end"
    yield Check(
        f"{name}: round trip{begun}, {tool}",
        f"{tool} {_median_us(whole_ns)}: captured there {_median_us(there_ns)}, at the far end "
        f"{_median_us(far_end_ns)}, back {_median_us(back_ns)}; its own {_median_us(own_ns)}",
        "its own above 0",
        statistics.median(own_ns) > 0,
    )
    yield _way(f"{name}: way {way}, {tool}", tool, trips.there, [part.rested_ns for part in parts])


def _way(what: str, tool: str, ours: Sequence[OneWay], theirs_ns: Sequence[float]) -> Check:
    """Whether a tool's requests take as long as vtax's frames, from a capture where they leave to the far end.

    What is held against the budget is the interval of the median of the rounds' differences. A miss is explained where
    vtax or the tool misses the budget against itself, from round to round, unless all of the wider interval that
    refutes equivalence lies beyond.
    """
    ours_ns = [way.captured_ns for way in ours]
    share_ns = WAY_SHARE * statistics.median(ours_ns)
    budget = Budget(-max(LESS_NS, share_ns), max(SOCKETS_NS, share_ns))
    differences_ns = [their_ns - our_ns for their_ns, our_ns in zip(theirs_ns, ours_ns, strict=True)]
    found_ns = median_interval(differences_ns)
    explanation = None
    if not budget.holds(found_ns) and not budget.unexplained(differences_ns, COMPARED):
        explanation = budget.too_uneven((("vtax", ours_ns), (tool, theirs_ns)), microseconds)
    before_ns = statistics.median(way.before_capture_ns for way in ours)
    return Check(
        what,
        f"vtax {_median_us(ours_ns)} and {_us(before_ns)} before its capture, {tool} {_median_us(theirs_ns)}: "
        f"{statistics.median(differences_ns) / 1e3:+.1f} {microseconds(found_ns)}, n = {len(ours)}",
        f"{budget.least / 1e3:+.1f} to {budget.most / 1e3:+.1f} µs",
        budget.holds(found_ns),
        explanation,
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


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f}, n = {len(values)})"


def _median_us(values_ns: Sequence[float]) -> str:
    values = [value / 1e3 for value in values_ns]
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f}) µs"


def _us(value_ns: float) -> str:
    return f"{value_ns / 1e3:.1f} µs"
