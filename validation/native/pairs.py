"""Pairs of adjacent trials on one path, with work planted on each frame and without."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from validation.native.busy import Busy, Took, busy
from validation.trials import Machine, Trials, cell, path_of
from vtax.keys.cell import Cell
from vtax.platforms import Preset
from vtax.results import TrialRecord, number
from vtax.units import mbps
from vtax.workloads.forwarding.measure.path import ForwardingPath

PAIRS: Final = 24
LEAVE: Final = "out0"
FRAME_BYTES: Final = 64


@dataclass(frozen=True)
class Load:
    """What crosses the path, and how long the work takes: of the reference, and how much longer of what is planted."""

    fps: int | None
    """None of a flood."""
    duration_s: float
    reference_ns: int
    planted_ns: tuple[int, ...]

    @property
    def intended_mbps(self) -> float | Literal["max"]:
        """As a scenario asks for it."""
        return "max" if self.fps is None else mbps(self.fps, FRAME_BYTES)


PACED: Final = Load(1000, 0.4, 0, (2_000, 5_000, 20_000, 100_000))
FLOODED: Final = Load(None, 0.4, 1_000, (100, 300, 1_000))


@dataclass(frozen=True)
class Found:
    """One trial by vtax, in ns, and what the planted work took by its own clock."""

    delay_p50_ns: float
    cpu_ns: float
    """CPU time of the UUT's host for each frame."""
    period_ns: float
    """Between frames received."""
    took: Took


@dataclass(frozen=True)
class Pair:
    """A trial with what is planted beside its reference."""

    planted: Found
    reference: Found


Series = dict[tuple[Load, int], list[Pair]]
"""Pairs by load and what is planted, in ns."""


def measured_on(preset: Preset, machine: Machine, trials: Trials, directory: Path) -> Series:
    """Measure all pairs on one path of a platform; raises PlatformUnusable, PathFailed, NoTrial."""
    series: Series = {}
    for load in (PACED, FLOODED):
        asked = cell(preset.name, FRAME_BYTES, load.intended_mbps, load.duration_s)
        with (
            path_of(preset, asked, machine) as (path, _),
            busy(path.testbed.uut.namespace, LEAVE, directory) as work,
        ):
            for planted_ns in load.planted_ns:
                series[load, planted_ns] = list(_pairs(path, asked, trials, work, load, planted_ns))
    return series


def _pairs(
    path: ForwardingPath, asked: Cell, trials: Trials, work: Busy, load: Load, planted_ns: int
) -> Iterator[Pair]:
    def trial(asked_ns: int) -> Found:
        work.ask(asked_ns)
        record = trials.usable(path, asked, emulated=False)
        return found(record, work.took())

    for at in range(PAIRS):
        both = (load.reference_ns, load.reference_ns + planted_ns)
        first, second = (trial(asked_ns) for asked_ns in (both if at % 2 == 0 else both[::-1]))
        reference, planted = (first, second) if at % 2 == 0 else (second, first)
        yield Pair(planted, reference)


def found(record: TrialRecord, took: Took) -> Found:
    """Return what a trial's rows come to for each frame."""
    (flow,) = record.flows
    frames = number(flow["frames_received"])
    (busy_percent,) = (
        number(row["percent"]) for row in record.cpu if (row["domain"], row["component"]) == ("host", "total")
    )
    return Found(
        delay_p50_ns=number(flow["latency_p50_ns"]),
        cpu_ns=busy_percent / 100 * number(record.trial["duration_s"]) * 1e9 / frames,
        period_ns=1e9 / number(flow["received_fps"]),
        took=took,
    )
