"""Pairs of what is measured with work planted on each frame, and with as good as none, on one path."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

from validation.native.busy import Busy, busy
from validation.trials import Machine, Trials, cell, path_of
from vtax.keys.cell import Cell
from vtax.platforms import Preset
from vtax.results import TrialRecord, number, whole
from vtax.units import mbps
from vtax.workloads.forwarding.measure.path import ForwardingPath

PAIRS: Final = 20
LEAVE: Final = "out{}"
"""Where the frames of a stream leave the unit under test."""
FRAME_BYTES: Final = 64
DURATION_S: Final = 0.4
PACED_FPS: Final = 1_000
"""Of each of two streams, by turns: neither finds the other's frame at work."""
FLOODED_NS: Final = 1_000
"""Work on each frame of a flood's reference."""

Name = Literal["median delay", "CPU per frame", "1 / maximum"]
PLANTED_NS: Final[dict[Name, tuple[int, ...]]] = {
    "median delay": (2_000, 5_000, 20_000, 100_000),
    "CPU per frame": (100, 300, 1_000),
    "1 / maximum": (100, 300, 1_000),
}


@dataclass(frozen=True)
class Pair:
    """By how much more vtax found than for the reference, how much more the work took, and the reference itself."""

    measured_ns: float
    true_ns: float
    reference_ns: float


Series = dict[tuple[Name, int], list[Pair]]
"""Pairs by what is measured and how much work is planted, in ns."""


@dataclass(frozen=True)
class Ground:
    """A path with work at the end of each stream, and the trials on it."""

    path: ForwardingPath
    asked: Cell
    trials: Trials
    works: tuple[Busy, ...]

    def trial(self, *asked_ns: int) -> TrialRecord:
        """Make a usable trial with so much work on the frames of each stream; raises NoTrial."""
        for work, of_stream in zip(self.works, asked_ns, strict=True):
            work.ask(of_stream)
        return self.trials.usable(self.path, self.asked, emulated=False)


def measured_on(preset: Preset, machine: Machine, trials: Trials, directory: Path) -> Series:
    """Measure all pairs on a platform; raises PlatformUnusable, PathFailed, NoTrial."""
    series: Series = {}
    paced = cell(preset.name, FRAME_BYTES, mbps(PACED_FPS, FRAME_BYTES), DURATION_S, streams=2)
    with ExitStack() as opened:
        ground = _open(opened, preset, paced, machine, trials, directory)
        for planted_ns in PLANTED_NS["median delay"]:
            series["median delay", planted_ns] = [_delays(ground, planted_ns) for _ in range(PAIRS)]
    flooded = cell(preset.name, FRAME_BYTES, "max", DURATION_S)
    with ExitStack() as opened:
        ground = _open(opened, preset, flooded, machine, trials, directory)
        for planted_ns in PLANTED_NS["1 / maximum"]:
            floods = [_floods(ground, planted_ns, at) for at in range(PAIRS)]
            series["CPU per frame", planted_ns] = [cpu for cpu, _ in floods]
            series["1 / maximum", planted_ns] = [period for _, period in floods]
    return series


def _open(
    opened: ExitStack, preset: Preset, asked: Cell, machine: Machine, trials: Trials, directory: Path
) -> Ground:
    path, _ = opened.enter_context(path_of(preset, asked, machine))
    ends = (LEAVE.format(stream) for stream in range(asked.streams))
    namespace = path.testbed.uut.namespace
    works = tuple(opened.enter_context(busy(namespace, end, directory)) for end in ends)
    return Ground(path, asked, trials, works)


def _delays(ground: Ground, planted_ns: int) -> Pair:
    """Two trials: the streams change roles in between, so that what they differ by of themselves cancels."""
    pairs = []
    for stream, other in ((0, 1), (1, 0)):
        record = ground.trial(*(planted_ns if each == stream else 0 for each in range(2)))
        p50_ns = {whole(flow["stream"]): number(flow["latency_p50_ns"]) for flow in record.flows}
        took_ns = [work.took().median_ns for work in ground.works]
        pairs.append(Pair(p50_ns[stream] - p50_ns[other], took_ns[stream] - took_ns[other], p50_ns[other]))
    return Pair(
        fmean(pair.measured_ns for pair in pairs),
        fmean(pair.true_ns for pair in pairs),
        fmean(pair.reference_ns for pair in pairs),
    )


def _floods(ground: Ground, planted_ns: int, at: int) -> tuple[Pair, Pair]:
    """Two trials, of which every other time the reference is first: CPU time of a frame, and time between frames."""
    found = {}
    for more_ns in (planted_ns, 0) if at % 2 == 0 else (0, planted_ns):
        record = ground.trial(FLOODED_NS + more_ns)
        (work,) = ground.works
        found[more_ns] = (*per_frame_ns(record), work.took().mean_ns)
    (cpu_ns, period_ns, took_ns), (own_cpu_ns, own_period_ns, own_took_ns) = found[planted_ns], found[0]
    true_ns = took_ns - own_took_ns
    return (
        Pair(cpu_ns - own_cpu_ns, true_ns, own_cpu_ns),
        Pair(period_ns - own_period_ns, true_ns, own_period_ns),
    )


def per_frame_ns(record: TrialRecord) -> tuple[float, float]:
    """Return what a frame of a trial took of the UUT's CPUs, and the time between frames received."""
    (flow,) = record.flows
    (busy_percent,) = (
        number(row["percent"]) for row in record.cpu if (row["domain"], row["component"]) == ("host", "total")
    )
    busy_ns = busy_percent / 100 * number(record.trial["duration_s"]) * 1e9
    return busy_ns / number(flow["frames_received"]), 1e9 / number(flow["received_fps"])
