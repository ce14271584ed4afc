"""Stages: what it costs that frames are followed, a hook and a gigabit link."""

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.counter import Counted
from bench.figure import Figure, Section, sample_text
from bench.ground import SOURCE_INTERFACE, Ground, link_ground, router_ground
from bench.rounds import ROUNDS, mpps_text
from bench.senders import SEND_S, Sender, vtax
from vtax.agent_api import (
    Hook,
    StagesCollectAnswer,
    StagesCollectParams,
    StagesOpenParams,
    StagesPoint,
    StagesTrail,
)
from vtax.machine.namespace import Namespace
from vtax.statistics import paired_difference, paired_ratio
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout

HOOK_FRAME_BYTES = 64
LINK_FRAME_BYTES = 1500
LINK_MBPS = 1000.0
MOST_PROGRAM_NS = 150.0
MOST_LOSS = 0.03
ALL = 1
SAMPLED = 64
"""The default of `stages.open`."""
Point = tuple[Hook, Namespace, str]

TEXT = f"""
One core sends {HOOK_FRAME_BYTES}-byte frames one by one, as fast as they go, into a far end in the sender's
context, which counts and drops them at tc. Each passes four hooks (`queue`, `transmit`, `arrive`, `receive`).
A program's time is by its own clock, every 64th hit, a read of the clock in it. From outside a hook costs a quarter
of the difference of a frame's time to that with nothing watched: the kernel's way into the program, which any
tracer goes, is in it. Every frame is followed, or one in {SAMPLED}. Then {LINK_FRAME_BYTES}-byte frames go through a
router over links of {LINK_MBPS:g} Mbit/s, past five hooks, one frame in {SAMPLED} followed. By turns, in {ROUNDS}
rounds.
"""


def run(directory: Path) -> Section:
    """A hook's cost with every frame followed and with few, and what the default takes of a link's rate."""
    sender = vtax("raw")
    with hold_host("bench stage_cost") as record:
        with link_ground(record, cpu_layout(), directory, own_context=False) as ground:
            source, far = ground.source.namespace, ground.far.namespace
            points: tuple[Point, ...] = (
                ("queue", source, SOURCE_INTERFACE),
                ("transmit", source, SOURCE_INTERFACE),
                ("arrive", far, ground.interface),
                ("receive", far, ground.interface),
            )
            hooks = _in_rounds(ground, sender, points, (None, ALL, SAMPLED), HOOK_FRAME_BYTES, _settled_fps)
        with router_ground(record, cpu_layout(), directory, link_mbps=LINK_MBPS) as ground:
            assert ground.router is not None  # noqa: S101 - a ground with a router in between
            router, far = ground.router.namespace, ground.far.namespace
            points = (
                ("arrive", router, "in0"),
                ("receive", router, "in0"),
                ("queue", router, "out0"),
                ("transmit", router, "out0"),
                ("arrive", far, ground.interface),
            )
            link = _in_rounds(ground, sender, points, (None, SAMPLED), LINK_FRAME_BYTES, _mean_fps)
    figures = (
        _program_figure(hooks, SAMPLED, MOST_PROGRAM_NS),
        _program_figure(hooks, ALL, None),
        _hook_figure(hooks, SAMPLED),
        _hook_figure(hooks, ALL),
        _link_figure(link),
    )
    return Section("Stages", TEXT, figures)


@dataclass(frozen=True)
class Rounds:
    """By `sample_every` (None: nothing is watched) and round: frames a second, and a program's mean time."""

    fps: dict[int | None, dict[int, float]]
    program_ns: dict[int | None, dict[int, float]]


def _settled_fps(counted: Counted) -> float:
    if counted.fps is None:
        raise OSError("too few frames came to the far end")
    return counted.fps


def _mean_fps(counted: Counted) -> float:
    """Of a link's rate: too few frames for the other, and none that is the sender's own haste."""
    return counted.frames / SEND_S


def _in_rounds(
    ground: Ground,
    sender: Sender,
    points: Sequence[Point],
    ways: Sequence[int | None],
    frame_bytes: int,
    fps_of: Callable[[Counted], float],
) -> Rounds:
    ground.far.start_agent("tracer", "host")
    rounds = Rounds({way: {} for way in ways}, {way: {} for way in ways if way})
    for number in range(ROUNDS):
        first = number % len(ways)
        for way in (*ways[first:], *ways[:first]):
            with ground.counting(frame_bytes) as counter, _followed(ground, points, way) as program_ns:
                sender.flood(ground, frame_bytes)
                rounds.fps[way][number] = fps_of(counter.read())
                if program_ns is not None:
                    rounds.program_ns[way][number] = program_ns()
    return rounds


@contextlib.contextmanager
def _followed(
    ground: Ground, points: Sequence[Point], sample_every: int | None
) -> Iterator[Callable[[], float] | None]:
    """The trail watched, if one is; tells the programs' mean time. Frames must have gone all of the trail."""
    if sample_every is None:
        yield None
        return
    trail = StagesTrail(
        name="bench",
        points=[
            StagesPoint(hook=hook, netns=str(namespace.path), interface=interface)
            for hook, namespace, interface in points
        ],
        stages=[f"stage {number}" for number in range(1, len(points))],
    )
    tracer = ground.far.api("tracer")
    tracer.stages_open(StagesOpenParams(trails=[trail], sample_every=sample_every, follow="stamp"))
    try:
        yield lambda: _program_ns(tracer.stages_collect(StagesCollectParams(trail=0, first=0)))
    finally:
        tracer.stages_close()


def _program_ns(collected: StagesCollectAnswer) -> float:
    if not collected.attributed:
        raise OSError("no frame was followed to its end: nothing was traced")
    times = [hook.ns for hook in collected.hooks if hook.ns is not None]
    if len(times) < len(collected.hooks):
        raise OSError("a hook was not hit: its program has no time")
    return statistics.mean(times)


def _program_figure(rounds: Rounds, sample_every: int, most_ns: float | None) -> Figure:
    times_ns = rounds.program_ns[sample_every]
    mean = paired_difference(times_ns, dict.fromkeys(times_ns, 0.0))
    if mean is None:
        raise ArithmeticError("no hit was timed")
    return Figure(
        f"{_followed_text(sample_every)}: ns of a program, by its own clock",
        sample_text(times_ns.values(), "ns", 0),
        "",
        "" if most_ns is None else f"at most {most_ns:g} ns",
        mean.mean,
        mean.low,
        mean.high,
        None if most_ns is None else mean.high is not None and mean.high <= most_ns,
    )


def _followed_text(sample_every: int) -> str:
    return "every frame followed" if sample_every == ALL else f"one frame in {sample_every} followed"


def _hook_figure(rounds: Rounds, sample_every: int) -> Figure:
    hooks = 4
    hook_ns = {
        way: {number: 1e9 / each / hooks for number, each in rounds.fps[way].items()}
        for way in (sample_every, None)
    }
    cost = paired_difference(hook_ns[sample_every], hook_ns[None])
    if cost is None:
        raise ArithmeticError("the sender sent nothing")
    return Figure(
        f"{_followed_text(sample_every)}: ns of a hook, from outside",
        mpps_text(rounds.fps[sample_every].values()),
        f"not watched: {mpps_text(rounds.fps[None].values())}",
        "",
        cost.mean,
        cost.low,
        cost.high,
        None,
    )


def _link_figure(rounds: Rounds) -> Figure:
    ratio = paired_ratio(rounds.fps[SAMPLED], rounds.fps[None])
    if ratio is None:
        raise ArithmeticError("the sender sent nothing")
    return Figure(
        f"{LINK_FRAME_BYTES} B over {LINK_MBPS:g} Mbit/s, {_followed_text(SAMPLED)}: rate",
        mpps_text(rounds.fps[SAMPLED].values()),
        f"not watched: {mpps_text(rounds.fps[None].values())}",
        f"at least {1 - MOST_LOSS:g} x",
        ratio.mean,
        ratio.low,
        ratio.high,
        ratio.low is not None and ratio.low >= 1 - MOST_LOSS,
    )
