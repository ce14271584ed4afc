"""Links: whether a source fills one with small frames, and never sends more than it carries."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from bench.figure import Figure, Section, sample_text
from bench.forwarding import router_thread_ns
from bench.ground import Ground, link_ground, router_ground
from bench.rounds import ROUNDS, mpps_text
from bench.senders import ceilings
from validation.tc_program import attach, built, classified, maps_of, values
from vtax.agent_api import Mechanism, SentPhase, SourceRunAnswer
from vtax.keys.frames import FrameSpec
from vtax.statistics import mean_interval
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.trial.frames.limits import LINK_TOLERANCE, WAITED_SHARE
from vtax.trial.frames.measured import PROBES_PER_S_FLOOD
from vtax.units import OVERHEAD_BYTES, fps

PROGRAM = Path(__file__).with_name("link.bpf.c")
LINK_MBPS = 1000
FRAME_BYTES = (64, 512, 1500)
WARMUP_S, TRIAL_S = 0.2, 1.0
BUCKET_BYTES = 65_536
PS_PER_BYTE = 8_000_000 // LINK_MBPS
FULL_FRAME_BYTES = 1538
"""At layer 1: what is handed over at once takes no longer on the link, unless it is one frame."""
BUSY_SHARE = 0.95
"""A router's thread that has its CPU for so much of the time takes no more frames."""

TEXT = f"""
A source floods a link of {LINK_MBPS} Mbit/s (layer 1, 24 bytes a frame) with flow control, as in a campaign, and
keeps to its rate by itself; {PROBES_PER_S_FLOOD} probes a second go beside. The far end has a context of its own,
where a program at tc ingress counts and drops every frame. By the frames' own times of departure it also reckons the
most that the flood had in any time T beyond the link's rate times T, of which {BUCKET_BYTES} bytes are allowed; and
it counts frames that came twice or out of order. {ROUNDS} trials of {TRIAL_S:g} s each. What leaves at once takes no
longer on the link than a full frame.

*Through the router*: the kernel's `ip_forward` on a core of its own, behind the same link. A router that takes less
than the link has shows it: its thread has its CPU for {BUSY_SHARE:.0%} of the time, or the source waits for room for
{WAITED_SHARE:.0%} of it.
"""


class Crossing(Struct, frozen=True):
    """What `link.bpf.c` knows of the frames that crossed the link."""

    frames: int
    probes: int
    twice: int
    late: int
    highest_ps: int


@dataclass(frozen=True)
class Trial:
    """A flood: what its source says of it, and what came."""

    answer: SourceRunAnswer
    came: Crossing

    @property
    def sent(self) -> SentPhase:
        """What was sent in the measured phase."""
        return self.answer.streams[0].phases[-1]

    @property
    def window_s(self) -> float:
        """How long that was."""
        return (self.sent.end_ns - self.sent.start_ns) / 1e9


def run(directory: Path) -> Section:
    """Into a counter at the end of the link, and through a router."""
    figures: list[Figure] = []
    cpus = cpu_layout()
    mechanisms: dict[int, Mechanism] = {}
    with hold_host("bench link") as record:
        with link_ground(record, cpus, directory, own_context=True, link_mbps=LINK_MBPS) as ground:
            for frame_bytes in FRAME_BYTES:
                mechanism, ceiling_fps = _chosen(ground, frame_bytes)
                trials = [trial(ground, frame_bytes, mechanism) for _ in range(ROUNDS)]
                figures += figures_of(f"{frame_bytes} B ({mechanism})", frame_bytes, ceiling_fps, trials)
                mechanisms[frame_bytes] = mechanism
        with router_ground(record, cpus, directory, link_mbps=LINK_MBPS) as ground:
            for frame_bytes in FRAME_BYTES:
                mechanism = mechanisms[frame_bytes]
                passed = [_passed(ground, frame_bytes, mechanism) for _ in range(ROUNDS)]
                figures.append(figure_of_router(f"{frame_bytes} B ({mechanism})", frame_bytes, passed))
    return Section("Links", TEXT, tuple(figures))


def figures_of(name: str, frame_bytes: int, ceiling_fps: float, trials: Sequence[Trial]) -> list[Figure]:
    """Return the share of the link's rate that came, and how many frames and bytes were not as they should be.

    `ceiling_fps` is what the source floods where the link has no rate.
    """
    came_fps = [trial.came.frames / trial.window_s for trial in trials]
    link_fps = fps(LINK_MBPS, frame_bytes)
    share = mean_interval([rate / link_fps for rate in came_fps])
    is_full = share.low is not None and share.low >= LINK_TOLERANCE
    return [
        Figure(
            f"{name}: share of the link's rate that comes",
            mpps_text(came_fps),
            "",
            f"at least {LINK_TOLERANCE:g}",
            share.mean,
            share.low,
            share.high,
            is_full,
            None if is_full else told_of_source(ceiling_fps, link_fps),
        ),
        _most(
            f"{name}: beyond the rate at any time, bytes",
            [trial.came.highest_ps // PS_PER_BYTE for trial in trials],
            BUCKET_BYTES,
        ),
        _most(
            f"{name}: sent and not counted, frames",
            [abs(trial.sent.frames_sent - trial.came.frames) for trial in trials],
            0,
        ),
        _most(f"{name}: twice, frames", [trial.came.twice for trial in trials], 0),
        _most(f"{name}: out of order, frames", [trial.came.late for trial in trials], 0),
        _most(
            f"{name}: at once, frames",
            [trial.sent.longest_burst for trial in trials],
            max(1, FULL_FRAME_BYTES // (frame_bytes + OVERHEAD_BYTES)),
        ),
    ]


def told_of_source(ceiling_fps: float, link_fps: float) -> str | None:
    """Return what a miss comes from, if the source floods no faster where the link has no rate."""
    if ceiling_fps >= LINK_TOLERANCE * link_fps:
        return None
    return (
        f"The source floods {ceiling_fps / 1e6:.2f} Mpps in trains as long where the link has no rate: "
        f"{1e9 / ceiling_fps:.0f} ns a frame on this machine, of which the link has one each {1e9 / link_fps:.0f} ns."
    )


@dataclass(frozen=True)
class Passed:
    """A flood through a router: what came behind it, and what kept it from more, as shares of the time."""

    passed_fps: float
    router_busy: float
    source_waited: float

    def shows_router(self, link_fps: float) -> bool:
        """Whether the rate is the link's, or visibly the router's."""
        is_full = self.passed_fps >= LINK_TOLERANCE * link_fps
        return is_full or self.router_busy >= BUSY_SHARE or self.source_waited >= WAITED_SHARE


def figure_of_router(name: str, frame_bytes: int, passed: Sequence[Passed]) -> Figure:
    """Return the rate behind the router, with what limits it."""
    link_fps = fps(LINK_MBPS, frame_bytes)
    share = mean_interval([each.passed_fps / link_fps for each in passed])
    busy = sample_text((each.router_busy * 100 for each in passed), "%", 0)
    waited = sample_text((each.source_waited * 100 for each in passed), "%", 0)
    return Figure(
        f"{name} through the router: share of the link's rate",
        f"{mpps_text(each.passed_fps for each in passed)}; its thread is busy {busy}, the source waits {waited}",
        "",
        "the link is full, or the router visibly the limit",
        share.mean,
        share.low,
        share.high,
        all(each.shows_router(link_fps) for each in passed),
    )


def _most(name: str, found: Sequence[int], allowed: int) -> Figure:
    """Return a count that no trial may exceed."""
    text = f"{max(found)} at most (n = {len(found)})"
    return Figure(name, text, "", f"at most {allowed}", None, None, None, max(found) <= allowed)


def _chosen(ground: Ground, frame_bytes: int) -> tuple[Mechanism, float]:
    """Return the mechanism that a campaign would flood the link by, and what it floods where the link has no rate."""
    with ground.counting(frame_bytes):
        found = ceilings(ground, frame_bytes)
    return found[0].mechanism, found[0].ceiling_fps


def trial(ground: Ground, frame_bytes: int, mechanism: Mechanism) -> Trial:
    """Flood the link for a moment, with a counter at its end."""
    program = built(PROGRAM, {"BYTE_PS": PS_PER_BYTE}, ground.directory)
    with classified(ground.far.namespace, ground.interface):
        number = attach(ground.far.namespace, ground.interface, "ingress", program, "tc")
        answer = _flood(ground, frame_bytes, mechanism)
        (came,) = values(maps_of(number)["crossed"], Crossing)
    return Trial(answer, came)


def _passed(ground: Ground, frame_bytes: int, mechanism: Mechanism) -> Passed:
    assert ground.router is not None  # noqa: S101 - a ground with a router in between
    with ground.counting(frame_bytes) as counter:
        before = router_thread_ns(ground.router)
        answer = _flood(ground, frame_bytes, mechanism)
        busy_ns = router_thread_ns(ground.router) - before
        passed_fps = counter.read().fps
    measured = answer.streams[0].phases[-1]
    if passed_fps is None or measured.waited_ns is None:
        raise OSError(f"too few frames of {frame_bytes} bytes came through the router")
    window_ns = measured.end_ns - measured.start_ns
    return Passed(passed_fps, busy_ns / (answer.end_ns - answer.start_ns), measured.waited_ns / window_ns)


def _flood(ground: Ground, frame_bytes: int, mechanism: Mechanism) -> SourceRunAnswer:
    params = FrameSpec(frame_bytes).run(
        1,
        mechanism,
        {"warmup": WARMUP_S, "measure": TRIAL_S},
        intended_fps=None,
        probe_fps=PROBES_PER_S_FLOOD,
    )
    with ground.sending() as source:
        return source.source_run(params)
