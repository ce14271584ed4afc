"""Stages: what it costs that frames are followed, a hook and a gigabit link."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.counter import Counted
from bench.figure import Figure, Section
from bench.ground import SOURCE_INTERFACE, Ground, link_ground, router_ground
from bench.rounds import ROUNDS, mpps_text
from bench.senders import SEND_S, Sender, vtax
from vtax.campaign.hold import hold_host
from vtax.machine.namespace import Namespace
from vtax.statistics import paired_difference, paired_ratio
from vtax.testbed.layout import cpu_layout

HOOK_FRAME_BYTES = 64
LINK_FRAME_BYTES = 1500
LINK_MBPS = 1000.0
MOST_HOOK_NS = 150.0
MOST_LOSS = 0.03
ALL = 1
SAMPLED = 64
"""The default of `stages.open`."""
Point = tuple[str, Namespace, str]

TEXT = f"""
One core sends {HOOK_FRAME_BYTES}-byte frames one by one, as fast as they go, into a far end in the sender's
context, which counts and drops them at tc. Each passes four hooks (`queue`, `transmit`, `arrive`, `receive`),
whose programs take the sender's time: a quarter of the difference of a frame's time to that without them is a
hook's cost, its entry and all. Every frame is followed, or one in {SAMPLED}. Then {LINK_FRAME_BYTES}-byte frames go
through a router over links of {LINK_MBPS:g} Mbit/s, past five hooks, one frame in {SAMPLED} followed. By turns, in
{ROUNDS} rounds.
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
            hook_fps = _in_rounds(
                ground, sender, points, (None, ALL, SAMPLED), HOOK_FRAME_BYTES, _settled_fps
            )
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
            link_fps = _in_rounds(ground, sender, points, (None, SAMPLED), LINK_FRAME_BYTES, _mean_fps)
    figures = (_hook_figure(hook_fps, ALL), _hook_figure(hook_fps, SAMPLED), _link_figure(link_fps))
    return Section("Stages", TEXT, figures)


Fps = dict[int | None, dict[int, float]]
"""Frames a second by `sample_every` (None: nothing is watched) and round."""


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
) -> Fps:
    ground.far.start_agent("tracer", "host")
    fps: Fps = {way: {} for way in ways}
    for number in range(ROUNDS):
        first = number % len(ways)
        for way in (*ways[first:], *ways[:first]):
            with ground.counting(frame_bytes) as counter, _followed(ground, points, way):
                sender.flood(ground, frame_bytes)
                fps[way][number] = fps_of(counter.read())
    return fps


@contextlib.contextmanager
def _followed(ground: Ground, points: Sequence[Point], sample_every: int | None) -> Iterator[None]:
    """The trail watched, if one is; frames must have gone all of it."""
    if sample_every is None:
        yield
        return
    trail: dict[str, Any] = {
        "name": "bench",
        "points": [
            {"hook": hook, "netns": str(namespace.path), "interface": interface}
            for hook, namespace, interface in points
        ],
        "stages": [f"stage {number}" for number in range(1, len(points))],
    }
    parameters = {"trails": [trail], "sample_every": sample_every, "follow": "stamp"}
    ground.far.call("tracer", "stages.open", parameters)
    try:
        yield
        if not ground.far.call("tracer", "stages.collect", {"trail": 0, "first": 0})["attributed"]:
            raise OSError("no frame was followed to its end: nothing was traced")
    finally:
        ground.far.call("tracer", "stages.close", {})


def _hook_figure(fps: Fps, sample_every: int) -> Figure:
    hooks = 4
    hook_ns = {
        way: {number: 1e9 / each / hooks for number, each in fps[way].items()} for way in (sample_every, None)
    }
    cost = paired_difference(hook_ns[sample_every], hook_ns[None])
    if cost is None:
        raise ArithmeticError("the sender sent nothing")
    followed = "every frame" if sample_every == ALL else f"one frame in {sample_every}"
    return Figure(
        f"{followed} followed: ns a hook",
        mpps_text(fps[sample_every].values()),
        f"not watched: {mpps_text(fps[None].values())}",
        f"at most {MOST_HOOK_NS:g} ns",
        cost.mean,
        cost.low,
        cost.high,
        cost.high is not None and cost.high <= MOST_HOOK_NS,
    )


def _link_figure(fps: Fps) -> Figure:
    ratio = paired_ratio(fps[SAMPLED], fps[None])
    if ratio is None:
        raise ArithmeticError("the sender sent nothing")
    return Figure(
        f"{LINK_FRAME_BYTES} B over {LINK_MBPS:g} Mbit/s, one frame in {SAMPLED} followed: rate",
        mpps_text(fps[SAMPLED].values()),
        f"not watched: {mpps_text(fps[None].values())}",
        f"at least {1 - MOST_LOSS:g} x",
        ratio.mean,
        ratio.low,
        ratio.high,
        ratio.low is not None and ratio.low >= 1 - MOST_LOSS,
    )
