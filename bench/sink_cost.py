"""The sink: what it costs a sender that its frames are checked, beside what a capture costs."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.figure import Figure, Section
from bench.ground import STREAM, Ground, link_ground, sent_fps
from bench.rounds import ROUNDS, mpps_text
from validation.agreement.process import started
from vtax.agent_api import AttachRequest, ExpectedStream, SinkCollectParams, SinkOpenParams, StreamInterface
from vtax.keys.frames import FrameSpec
from vtax.statistics import paired_difference, paired_ratio
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout

FRAME_BYTES = 64
FRAMES = FrameSpec(FRAME_BYTES)
SEND_S = 0.8
BEYOND_REACH_FPS = 1e7
"""Every frame by itself and every one a probe, as fast as they go."""
MOST_NS = 100.0
"""A tenth of the time that a sender of 1 Mpps has for a frame."""

TEXT = f"""
One core sends {FRAME_BYTES}-byte frames one by one, as fast as they go, into a far end in the sender's
context: what happens to a frame there takes the sender's time. In {ROUNDS} rounds the far end counts and
drops them, at XDP or at tc; or has vtax's sink there, which checks trial, phase, length and sequence of
every frame and files the delay of every one; or drops them at tc while tcpdump captures. The difference of
the time that a frame takes the sender to that with the bare drop at the same place is the cost: {MOST_NS:g} ns are 10%
of a sender's time at 1 Mpps.
"""


def run(directory: Path) -> Section:
    """Bare drops, the sink, tcpdump, by turns."""
    with (
        hold_host("bench sink_cost") as record,
        link_ground(record, cpu_layout(), directory, own_context=False) as ground,
    ):
        ground.far.start_agent("sink", "agents")
        ground.open_source()
        ends: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
            "bare XDP drop": lambda: ground.counting(FRAME_BYTES, at="xdp"),
            "sink at XDP": lambda: _sink(ground, "native"),
            "bare tc drop": lambda: ground.counting(FRAME_BYTES),
            "sink at tc": lambda: _sink(ground, "tc"),
            "tcpdump": lambda: _tcpdump(ground),
        }
        fps: dict[str, dict[int, float]] = {name: {} for name in ends}
        for number in range(ROUNDS):
            for name, end in ends.items():
                with end():
                    fps[name][number] = _send(ground)
    return Section(
        "Sink",
        TEXT,
        (
            _figure(fps, "sink at XDP", "bare XDP drop", MOST_NS),
            _figure(fps, "sink at tc", "bare tc drop", MOST_NS),
            _figure(fps, "tcpdump", "bare tc drop", None),
        ),
    )


def _send(ground: Ground) -> float:
    """Frames a second that the sender got rid of."""
    params = FRAMES.run(
        1, "raw", {"measure": SEND_S}, intended_fps=BEYOND_REACH_FPS, probe_fps=BEYOND_REACH_FPS
    )
    return sent_fps(ground.sender.source_run(params).streams[0].phases[-1])


@contextlib.contextmanager
def _sink(ground: Ground, attach: AttachRequest) -> Iterator[None]:
    """vtax's sink in place and armed; it must have checked the frames that came."""
    sink = ground.far.api("sink")
    stream = StreamInterface(stream=STREAM.stream, interface=ground.interface)
    sink.sink_open(SinkOpenParams(streams=[stream], attach=attach))
    try:
        sink.sink_arm(FRAMES.arm(1, "measure"))
        yield
        expected = [ExpectedStream(stream=STREAM.stream, frames=0)]
        (found,) = sink.sink_collect(SinkCollectParams(expected=expected, quiet_ms=50, limit_ms=500)).streams
        if not found.latency.count:
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


def _figure(fps: dict[str, dict[int, float]], name: str, bare: str, most_ns: float | None) -> Figure:
    times_ns = {end: {number: 1e9 / each for number, each in fps[end].items()} for end in (name, bare)}
    cost = paired_difference(times_ns[name], times_ns[bare])
    rate = paired_ratio(fps[name], fps[bare])
    if cost is None or rate is None:
        raise ArithmeticError(f"the sender sent nothing into {bare}")
    return Figure(
        f"{name}: ns a frame; takes {1 - rate.mean:.1%} of the sender's greatest rate",
        mpps_text(fps[name].values()),
        f"{bare}: {mpps_text(fps[bare].values())}",
        "" if most_ns is None else f"at most {most_ns:g} ns",
        cost.mean,
        cost.low,
        cost.high,
        None if most_ns is None else cost.high is not None and cost.high <= most_ns,
    )
