"""Pacing: whether frames leave at the rate and at the times that were asked for."""

import contextlib
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure, Section, sample_text
from bench.ground import Ground, link_ground, sent_fps
from bench.pauses import NOTICED_NS, Pauses, pauses, together
from vtax.agent_api import Ceiling, Mechanism
from vtax.keys.frames import FrameSpec
from vtax.machine.cpu import sample_cpus
from vtax.machine.ownership import OwnershipRecord
from vtax.statistics import mean_interval
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.trial.frames.measured import PLAIN
from vtax.units import fps, gap_ns
from vtax.workloads.forwarding.measure.calibrate import AMPLE

FRAME_BYTES = (64, 512, 1024, 1500)
RATES_MBPS = (10, 100, 400, 1000)
TRIALS = 7
WARMUP_S, TRIAL_S = 0.05, 0.6
PROBE_FPS = 1000
MEAN_ERROR = 1e-4
GAP_ERROR_NS = 5_000
LONGEST_BURST = 4
GAPS = "p99 gap error"

TEXT = f"""
The source's own record of {TRIALS} trials of {TRIAL_S:g} s each: when each frame was handed to the kernel,
and how far the time from one departure to the next was from 8000 (s + 24) / b ns. The far end has a context
of its own and drops. Frames go one by one where that is {AMPLE:g} times as fast as the rate, as in a
campaign, else by the fastest mechanism; frames that fall due while another is on its way leave together, at
most {LONGEST_BURST}. Trials during which the hypervisor reported stolen time are left out; n says how many
are left.

A hypervisor also stops a CPU without reporting it. Before each trial a loop that does nothing but read the
clock ran on the source's CPU. From the pauses it saw follows how many gaps a source must miss by more than
{GAP_ERROR_NS / 1000:g} us if it sends at once what is overdue; one that did not would add to the delay of frames,
which counts from when they were due.
"""


@dataclass(frozen=True)
class Trial:
    """Relative error of the mean rate, the gaps' error, bursts; and the machine's pauses just before."""

    mean_error: float
    gap_error_p99_ns: int
    longest_burst: int
    frames_per_send: float
    stolen: bool
    before: Pauses


class Load(NamedTuple):
    """What was paced, and how."""

    frame_bytes: int
    rate_mbps: int
    mechanism: Mechanism


def run(directory: Path) -> Section:
    """Every frame size at every rate; once more in the sender's context where nothing explains a miss."""
    cpus = cpu_layout()
    with hold_host("bench pacing") as record:
        with _open_ground(record, cpus, directory, own_context=True) as ground:
            found = {load: _trials(ground, load) for load in _loads(ground)}
        figures = {load: figures_of(*load, trials) for load, trials in found.items()}
        missed = [load for load, of_load in figures.items() if any(map(_is_unexplained, of_load))]
        if missed:
            with _open_ground(record, cpus, directory, own_context=False) as ground:
                for load in missed:
                    alike = figures_of(*load, _trials(ground, load))
                    figures[load] = told_of_context(figures[load], alike)
    seen = together([trial.before for trials in found.values() for trial in trials])
    text = f"{TEXT}\nIn this run: {seen.text()}.\n"
    return Section("Pacing", text, tuple(figure for of_load in figures.values() for figure in of_load))


def told_of_context(figures: list[Figure], alike: list[Figure]) -> list[Figure]:
    """What a miss of the gaps' comes from, if `alike`, of the same load in the sender's context, holds it."""
    held = {figure.name: figure for figure in alike if figure.holds}
    return [
        replace(
            figure,
            note=f"Into a far end that runs in the sender's context it is {held[figure.name].ours}: what the source "
            "waits for is the far end's thread, which its own system call wakes up on another core.",
        )
        if _is_unexplained(figure) and figure.name in held
        else figure
        for figure in figures
    ]


def _is_unexplained(figure: Figure) -> bool:
    return figure.holds is False and figure.note is None and GAPS in figure.name


@contextlib.contextmanager
def _open_ground(
    record: OwnershipRecord, cpus: dict[str, list[int]], directory: Path, *, own_context: bool
) -> Iterator[Ground]:
    """A pair of links whose source is open."""
    with link_ground(record, cpus, directory, own_context=own_context) as ground:
        ground.open_source()
        yield ground


def _loads(ground: Ground) -> Iterator[Load]:
    """Every frame size at every rate, by the mechanism that a campaign would take."""
    for frame_bytes in FRAME_BYTES:
        asked = FrameSpec(frame_bytes).calibrate("paced")
        with ground.counting(frame_bytes):
            ceilings = ground.sender.source_calibrate(asked, timeout_s=60.0).ceilings
        for rate_mbps in RATES_MBPS:
            yield Load(frame_bytes, rate_mbps, _mechanism(ceilings, fps(rate_mbps, frame_bytes)))


def _trials(ground: Ground, load: Load) -> list[Trial]:
    with ground.counting(load.frame_bytes):
        return [_trial(ground, *load) for _ in range(TRIALS)]


def _mechanism(ceilings: list[Ceiling], needed_fps: float) -> Mechanism:
    by_name = {entry.mechanism: entry.ceiling_fps for entry in ceilings}
    return PLAIN if by_name[PLAIN] >= AMPLE * needed_fps else ceilings[0].mechanism


def _trial(ground: Ground, frame_bytes: int, rate_mbps: int, mechanism: Mechanism) -> Trial:
    before = pauses(ground.cpu)
    asked_fps = fps(rate_mbps, frame_bytes)
    params = FrameSpec(frame_bytes).run(
        1,
        mechanism,
        {"warmup": WARMUP_S, "measure": TRIAL_S},
        intended_fps=asked_fps,
        probe_fps=PROBE_FPS,
    )
    steal = sample_cpus([ground.cpu]).steal_s
    reply = ground.sender.source_run(params)
    phase = reply.streams[0].phases[-1]
    (thread,) = reply.threads
    assert thread.gap_error_ns is not None  # noqa: S101 - it is paced
    return Trial(
        sent_fps(phase) / asked_fps - 1,
        thread.gap_error_ns.p99,
        phase.longest_burst,
        phase.frames_sent / phase.sends,
        sample_cpus([ground.cpu]).steal_s != steal,
        before,
    )


def figures_of(frame_bytes: int, rate_mbps: int, mechanism: str, trials: list[Trial]) -> list[Figure]:
    """Mean rate, gap errors and, where frames leave together, bursts of one load."""
    name = f"{frame_bytes} B at {rate_mbps} Mbit/s ({mechanism})"
    whole = [trial for trial in trials if not trial.stolen]
    if not whole:
        note = "The hypervisor reported stolen time in every trial."
        return [Figure(name, "", "", "trials without steal", None, None, None, False, note)]
    mean = mean_interval([abs(trial.mean_error) * 100 for trial in whole])
    error = mean_interval([trial.gap_error_p99_ns / 1000 for trial in whole])
    middle = sample_text((trial.gap_error_p99_ns / 1000 for trial in whole), "us", 2)
    gap_held = error.high is not None and error.high < GAP_ERROR_NS / 1000
    figures = [
        Figure(
            f"{name}: mean rate off by, %",
            f"{mean.mean:.4f} % (n = {mean.n})",
            "",
            f"within {MEAN_ERROR:.2%}",
            mean.mean,
            mean.low,
            mean.high,
            mean.high is not None and mean.high <= MEAN_ERROR * 100,
        ),
        Figure(
            f"{name}: {GAPS}, us",
            middle,
            "",
            f"under {GAP_ERROR_NS / 1000:g} us",
            error.mean,
            error.low,
            error.high,
            gap_held,
            None if gap_held else _forced(whole, gap_ns(rate_mbps, frame_bytes)),
        ),
    ]
    longest = max(trial.longest_burst for trial in trials)
    if longest > 1:
        together_ = statistics.mean(trial.frames_per_send for trial in trials)
        text = f"longest {longest}, {together_:.2f} frames a send"
        bound = f"at most {LONGEST_BURST} frames"
        figures.append(Figure(f"{name}: burst", text, "", bound, None, None, None, longest <= LONGEST_BURST))
    return figures


def _forced(trials: list[Trial], gap: float) -> str | None:
    """That the machine's own pauses spoil more than 1% of such gaps, where they do."""
    before = together([trial.before for trial in trials])
    share = before.share_of_gaps(gap)
    if share < 0.01:
        return None
    return (
        f"A loop that only reads the clock saw {before.text()} on this CPU, just before these trials. "
        f"At this rate that spoils at least {share:.1%} of the gaps by more than {NOTICED_NS / 1000:g} us."
    )
