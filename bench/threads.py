"""Threads: what a second thread of a source adds, and whether each frame of both is counted once."""

from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from bench.figure import Figure, Section, sample_text
from bench.ground import STREAM, Ground, link_ground
from bench.rounds import ROUNDS, mpps_text
from vtax.agent_api import (
    CollectedStream,
    ExpectedStream,
    IngressDropParams,
    SentPhase,
    SinkCollectParams,
    SinkOpenParams,
    StreamInterface,
)
from vtax.keys.frames import FrameSpec
from vtax.statistics import paired_ratio
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.trial.timeouts import DRAIN_LIMIT_MS, QUIET_MS

FRAME_BYTES = (64, 1500)
THREADS = 2
FLOWS = 8
TRIAL_S = 0.7
PROBE_FPS = 1
TRIAL = 1
LEAST = 1.5
FAR_AGENT = "sink"

TEXT = f"""
One stream of {FLOWS} flows is flooded by packet sockets (`raw`) from one thread and from {THREADS}, a CPU each, by
turns in {ROUNDS} rounds of {TRIAL_S:g} s. The far end runs within the sender's system call, on the sender's core, and
drops every frame at once: nothing but what the threads share holds them back. Frames that the far end had no room for
are not counted as sent. In a flood of its own in each round the sink has the frames of both threads.
"""


@dataclass(frozen=True)
class Round:
    """Floods of one thread and of several, and what the sink counted of one of several."""

    one_fps: float
    several_fps: float
    uncounted: int
    """Frames that left and were not counted at the link's end, or were counted there and did not leave."""
    counted: CollectedStream


def run(directory: Path) -> Section:
    """Both lengths, all rounds."""
    figures: list[Figure] = []
    cpus = cpu_layout(agents=THREADS)
    with (
        hold_host("bench threads") as record,
        link_ground(record, cpus, directory, own_context=False) as ground,
    ):
        ground.far.start_agent(FAR_AGENT, "host")
        for frame_bytes in FRAME_BYTES:
            _flood_into_drop(ground, frame_bytes, THREADS)  # for warming up
            figures += figures_of(frame_bytes, [_round(ground, frame_bytes) for _ in range(ROUNDS)])
    return Section("Threads of a source", TEXT, tuple(figures))


def figures_of(frame_bytes: int, rounds: list[Round]) -> list[Figure]:
    """Return how much more several threads send, and how many frames were counted otherwise than once."""
    one, several = (
        {number: getattr(each, side) for number, each in enumerate(rounds)}
        for side in ("one_fps", "several_fps")
    )
    ratio = paired_ratio(several, one)
    if ratio is None:
        raise ArithmeticError(f"{frame_bytes} B: no frame was sent by one thread")
    name = f"{frame_bytes} B, {THREADS} threads"
    faster = Figure(
        f"{name} against one",
        mpps_text(several.values()),
        mpps_text(one.values()),
        f"at least {LEAST:g} x",
        ratio.mean,
        ratio.low,
        ratio.high,
        ratio.low is not None and ratio.low >= LEAST,
    )
    odd = {
        "sent and not counted, or counted and not sent": [each.uncounted for each in rounds],
        "twice": [each.counted.duplicated for each in rounds],
        "out of order in a strand": [each.counted.reordered for each in rounds],
    }
    return [faster, *(_none(f"{name}: {what}, frames", found) for what, found in odd.items())]


def _none(name: str, found: list[int]) -> Figure:
    """Return a count that is 0 in every round."""
    text = sample_text(found, "frames", 0)
    return Figure(name, text, "", "none", None, None, None, not any(found))


def _round(ground: Ground, frame_bytes: int) -> Round:
    one_fps, of_one = _flood_into_drop(ground, frame_bytes, 1)
    several_fps, of_several = _flood_into_drop(ground, frame_bytes, THREADS)
    counted = _flood_into_sink(ground, frame_bytes)
    return Round(one_fps, several_fps, abs(of_one) + abs(of_several), counted)


def _flood_into_drop(ground: Ground, frame_bytes: int, threads: int) -> tuple[float, int]:
    """Return the rate of what left, and by how many frames the far end counted fewer."""
    far = ground.far.api(FAR_AGENT)
    far.ingress_drop(IngressDropParams(interfaces=[ground.interface]))
    try:
        sent = _flood(ground, frame_bytes, threads)
    finally:
        (dropped,) = far.ingress_release().interfaces
    left = sent.frames_sent - (sent.send_errors or 0)
    return left / TRIAL_S, left + sent.probes_sent - sent.probes_refused - dropped.frames


def _flood_into_sink(ground: Ground, frame_bytes: int) -> CollectedStream:
    """Return what the sink counted of a flood by several threads."""
    far, streams = (
        ground.far.api(FAR_AGENT),
        [StreamInterface(stream=STREAM.stream, interface=ground.interface)],
    )
    far.sink_open(SinkOpenParams(attach="auto", streams=streams))
    try:
        arm = _frames(frame_bytes).arm(TRIAL, "measure", gaps=False)
        far.sink_arm(structs.replace(arm, strands=THREADS))
        sent = _flood(ground, frame_bytes, THREADS)
        expected = [ExpectedStream(stream=STREAM.stream, strand_frames=sent.strand_frames)]
        collect = SinkCollectParams(expected=expected, quiet_ms=QUIET_MS, limit_ms=DRAIN_LIMIT_MS)
        (found,) = far.sink_collect(collect).streams
    finally:
        far.sink_close()
    if not found.received:
        raise OSError("no frame came to the sink")
    return found


def _flood(ground: Ground, frame_bytes: int, threads: int) -> SentPhase:
    run = _frames(frame_bytes).run(TRIAL, "raw", {"measure": TRIAL_S}, intended_fps=None, probe_fps=PROBE_FPS)
    with ground.sending(threads) as source:
        return source.source_run(run).streams[0].phases[0]


def _frames(frame_bytes: int) -> FrameSpec:
    return FrameSpec(frame_bytes, flows=FLOWS)
