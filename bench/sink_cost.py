"""The sink: what it costs a sender that its frames are checked, beside what a capture costs."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bench.figure import Figure, Section
from bench.ground import STREAM, Ground, link_ground, sent_fps
from bench.rounds import ROUNDS, mpps_text
from validation.agreement.process import started
from validation.equivalence import median_interval
from vtax.agent_api import AttachRequest, ExpectedStream, SinkCollectParams, SinkOpenParams, StreamInterface
from vtax.keys.frames import FrameSpec
from vtax.statistics.interval import CONFIDENCE
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.trial.frames.measured import PROBES_PER_S_FLOOD

FRAME_BYTES = 64
FRAMES = FrameSpec(FRAME_BYTES)
SEND_S = 0.25
PAIRS = 3 * ROUNDS
"""Short ones and many: cores that others share change their speed from one moment to the next."""
BEYOND_REACH_FPS = 1e7
"""Every frame by itself and every one a probe, as fast as they go."""
LEAST_RATE = 0.95
"""Of the sender's greatest rate, with the sink of a flood in place of a bare drop."""
MOST_NS = 100.0
"""A tenth of the time that a sender of 1 Mpps has for a frame."""
PLACES: dict[str, tuple[str, AttachRequest]] = {"XDP": ("xdp", "native"), "tc": ("tc", "tc")}
"""Where a bare drop is attached, and the sink."""

TEXT = f"""
One core sends {FRAME_BYTES}-byte frames one by one, as fast as they go, into a far end in the sender's
context: what happens to a frame there takes the sender's time. The far end counts and drops them, at XDP or at tc;
or has vtax's sink there, which checks trial, phase, length and sequence of every frame; or drops them at tc while
tcpdump captures. The sink is armed as for a flood in a campaign, {PROBES_PER_S_FLOOD} probes a second beside it; and as
for a paced load all of whose frames are probes, so that it files the gap before every frame, and its delay. Each is
sent into next to the bare drop at the same place, the same way, {PAIRS} times for {SEND_S:g} s, either first by turns.
The difference of the time that a frame takes the sender is the cost: {MOST_NS:g} ns are 10% of a sender's time at
1 Mpps. Figures are medians of the pairs, with the interval of the median: pairs between which a core changed its
speed are outliers of either sign.
"""

Rates = dict[int, float]
"""Frames a second that the sender got rid of, by round."""
End = Callable[[], contextlib.AbstractContextManager[object]]


def run(directory: Path) -> Section:
    """The sink and tcpdump, each beside a bare drop."""
    with (
        hold_host("bench sink_cost") as record,
        link_ground(record, cpu_layout(), directory, own_context=False) as ground,
    ):
        ground.far.start_agent("sink", "agents")
        ground.open_source()
        figures = [
            _rate(f"sink of a flood at {place}", *_sink_beside_bare(ground, place, probes=False))
            for place in PLACES
        ]
        figures += [
            _cost(f"sink of probes at {place}", *_sink_beside_bare(ground, place, probes=True), MOST_NS)
            for place in PLACES
        ]
        captured = _beside(
            ground, lambda: _tcpdump(ground), lambda: ground.counting(FRAME_BYTES), probes=False
        )
        figures.append(_cost("tcpdump at tc", *captured, None))
    return Section("Sink", TEXT, tuple(figures))


def _sink_beside_bare(ground: Ground, place: str, *, probes: bool) -> tuple[Rates, Rates]:
    at, attach = PLACES[place]
    return _beside(
        ground,
        lambda: _sink(ground, attach, gaps=probes),
        lambda: ground.counting(FRAME_BYTES, at=at),
        probes=probes,
    )


def _beside(ground: Ground, end: End, bare: End, *, probes: bool) -> tuple[Rates, Rates]:
    """Send into an end and into a bare drop, in pairs, either first by turns."""
    rates: tuple[Rates, Rates] = ({}, {})
    for number in range(PAIRS):
        pair = [(end, rates[0]), (bare, rates[1])]
        for opened, found in pair if number % 2 else reversed(pair):
            with opened():
                found[number] = _send(ground, all_probes=probes)
    return rates


def _send(ground: Ground, *, all_probes: bool) -> float:
    """Frames a second that the sender got rid of."""
    params = FRAMES.run(
        1,
        "raw",
        {"measure": SEND_S},
        intended_fps=BEYOND_REACH_FPS if all_probes else None,
        probe_fps=BEYOND_REACH_FPS if all_probes else PROBES_PER_S_FLOOD,
    )
    return sent_fps(ground.sender.source_run(params).streams[0].phases[-1])


@contextlib.contextmanager
def _sink(ground: Ground, attach: AttachRequest, *, gaps: bool) -> Iterator[None]:
    """vtax's sink in place and armed; it must have checked the frames that came."""
    sink = ground.far.api("sink")
    stream = StreamInterface(stream=STREAM.stream, interface=ground.interface)
    sink.sink_open(SinkOpenParams(streams=[stream], attach=attach))
    try:
        sink.sink_arm(FRAMES.arm(1, "measure", gaps=gaps))
        yield
        expected = [ExpectedStream(stream=STREAM.stream, strand_frames=[0])]
        (found,) = sink.sink_collect(SinkCollectParams(expected=expected, quiet_ms=50, limit_ms=500)).streams
        if not found.latency.count or not found.received:
            raise OSError("the sink filed no delay: nothing was checked")
    finally:
        sink.sink_close()


@contextlib.contextmanager
def _tcpdump(ground: Ground) -> Iterator[None]:
    log, file = ground.directory / "tcpdump.log", ground.directory / "tcpdump.pcap"
    options = ["--snapshot-length=96", "--buffer-size=32768", "-n", "-Z", "root"]
    command = ["tcpdump", *options, "-i", ground.interface, "-w", str(file)]
    with (
        ground.counting(FRAME_BYTES),
        started(ground.far, ground.record, ground.far_cpu, "listening on", log, *command),
    ):
        yield


def _rate(name: str, ours: Rates, bare: Rates) -> Figure:
    """The sender's rate beside that with a bare drop."""
    ratios = [ours[number] / bare[number] for number in ours]
    low, high = median_interval(ratios, CONFIDENCE)
    return Figure(
        f"{name}: rate of the sender; {median(_costs_ns(ours, bare)):.0f} ns a frame",
        mpps_text(ours.values()),
        f"bare drop: {mpps_text(bare.values())}",
        f"at least {LEAST_RATE:g}",
        median(ratios),
        low,
        high,
        low >= LEAST_RATE,
    )


def _cost(name: str, ours: Rates, bare: Rates, most_ns: float | None) -> Figure:
    """What a frame costs the sender beyond a bare drop."""
    costs_ns = _costs_ns(ours, bare)
    low_ns, high_ns = median_interval(costs_ns, CONFIDENCE)
    return Figure(
        f"{name}: ns a frame",
        mpps_text(ours.values()),
        f"bare drop: {mpps_text(bare.values())}",
        "" if most_ns is None else f"at most {most_ns:g} ns",
        median(costs_ns),
        low_ns,
        high_ns,
        None if most_ns is None else high_ns <= most_ns,
    )


def _costs_ns(ours: Rates, bare: Rates) -> list[float]:
    return [1e9 / ours[number] - 1e9 / bare[number] for number in ours]
