"""The sink: what it costs a sender that its frames are checked, beside what a capture costs."""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.figure import Figure, Section
from bench.ground import STREAM, Ground, link_ground
from bench.rounds import ROUNDS, mpps_text
from validation.agreement.process import started
from vtax.campaign.hold import hold_host
from vtax.statistics import paired_ratio
from vtax.testbed.layout import cpu_layout

FRAME_BYTES = 64
SEND_S = 0.8
BEYOND_REACH_FPS = 1e7
"""Every frame by itself and every one a probe, as fast as they go."""
LEAST = 0.9

TEXT = f"""
One core sends {FRAME_BYTES}-byte frames one by one, as fast as they go, into a far end in the sender's
context: what happens to a frame there takes the sender's time. In {ROUNDS} rounds the far end counts and
drops them, at XDP or at tc; or has vtax's sink there, which checks trial, phase, length and sequence of
every frame and files the delay of every one; or drops them at tc while tcpdump captures. The ratio is the
sender's rate with the checks to its rate with the bare drop at the same place.
"""


def run(directory: Path) -> Section:
    """Bare drops, the sink, tcpdump, by turns."""
    with (
        hold_host("bench sink_cost") as record,
        link_ground(record, cpu_layout(), directory, own_context=False) as ground,
    ):
        ground.far.start_agent("sink", "agents")
        ground.source.call("source", "source.open", {"cpu": ground.cpu, "streams": [ground.stream()]})
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
            _figure(fps, "sink at XDP", "bare XDP drop", LEAST),
            _figure(fps, "sink at tc", "bare tc drop", LEAST),
            _figure(fps, "tcpdump", "bare tc drop", None),
        ),
    )


def _send(ground: Ground) -> float:
    """Frames a second that the sender got rid of."""
    parameters = {
        "trial": 1,
        "frame_bytes": FRAME_BYTES,
        "mechanism": "raw",
        "intended_fps": BEYOND_REACH_FPS,
        "probe_fps": BEYOND_REACH_FPS,
        "phases": [{"phase": "measure", "duration_s": SEND_S}],
    }
    phase = ground.source.call("source", "source.run", parameters)["streams"][0]["phases"][-1]
    return float((phase["frames_sent"] - 1) / (phase["last_ns"] - phase["first_ns"]) * 1e9)


@contextlib.contextmanager
def _sink(ground: Ground, attach: str) -> Iterator[None]:
    """vtax's sink in place and armed; it must have checked the frames that came."""
    stream = {"stream": STREAM.stream, "interface": ground.interface}
    ground.far.call("sink", "sink.open", {"streams": [stream], "attach": attach})
    try:
        ground.far.call("sink", "sink.arm", {"trial": 1, "phase": "measure", "frame_bytes": FRAME_BYTES})
        yield
        asked = {"expected": [{"stream": STREAM.stream, "frames": 0}], "quiet_ms": 50, "limit_ms": 500}
        (found,) = ground.far.call("sink", "sink.collect", asked)["streams"]
        if not found["latency"]["count"]:
            raise OSError("the sink filed no delay: nothing was checked")
    finally:
        ground.far.call("sink", "sink.close", {})


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


def _figure(fps: dict[str, dict[int, float]], name: str, bare: str, least: float | None) -> Figure:
    ratio = paired_ratio(fps[name], fps[bare])
    if ratio is None:
        raise ArithmeticError(f"the sender sent nothing into {bare}")
    cost = 1 - ratio.mean
    rate = statistics.median(fps[name].values())
    return Figure(
        f"{name}: costs the sender {cost:.1%}, {1e9 * cost / rate:.0f} ns a frame",
        mpps_text(fps[name].values()),
        f"{bare}: {mpps_text(fps[bare].values())}",
        "" if least is None else f"at least {least:g} of the rate without",
        ratio.mean,
        ratio.low,
        ratio.high,
        None if least is None else ratio.low is not None and ratio.low >= least,
    )
