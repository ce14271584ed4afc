"""Quads of floods through a container, A and B by turns: B has work planted on each frame, or as much as A."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from validation.long.machine import machine_in_words
from validation.native.busy import Busy, busy
from validation.native.pairs import DURATION_S, FLOODED_NS, FRAME_BYTES, LEAVE, per_frame_ns
from validation.trials import Machine, Trials, cell, path_of
from vtax.keys.cell import Cell
from vtax.platforms import presets
from vtax.workloads.forwarding.measure.path import ForwardingPath

PLATFORM: Final = "container"
EFFECTS: Final = (0, 3, 5, 8, 12)
"""Percent of the frames that B is to carry fewer, each in one quad of a round; without any, it is A itself."""
ORDERS: Final = ("ABBA", "BAAB")


@dataclass(frozen=True)
class Quad:
    """Two trials of each level in one order, with how many frames a second each carried.

    `planted_percent` is how many fewer B was to carry by what the planted work took by its own clock.
    """

    at: str
    machine: str
    round: int
    effect_percent: int
    planted_percent: float
    order: str
    a_first_fps: float
    a_second_fps: float
    b_first_fps: float
    b_second_fps: float
    seconds: float

    @property
    def a_fps(self) -> tuple[float, float]:
        """The trials of A, in their order."""
        return self.a_first_fps, self.a_second_fps

    @property
    def b_fps(self) -> tuple[float, float]:
        """The trials of B, in their order."""
        return self.b_first_fps, self.b_second_fps


def measure_round(number: int, machine: Machine, trials: Trials, directory: Path) -> list[Quad]:
    """Measure a quad of each effect, in an order drawn anew, through a container of their own.

    Raises as `validation.native.pairs.measured_on` does.
    """
    rng = np.random.default_rng(number)
    effects = rng.permutation(EFFECTS).tolist()
    asked = cell(PLATFORM, FRAME_BYTES, "max", DURATION_S)
    with ExitStack() as opened:
        path, _ = opened.enter_context(path_of(presets()[PLATFORM], asked, machine))
        work = opened.enter_context(busy(path.testbed.uut.namespace, LEAVE.format(0), directory))
        ground = Ground(path, asked, trials, work)
        own_ns, _ = ground.flood(0)
        return [_quad(ground, number, effect, str(rng.choice(ORDERS)), own_ns) for effect in effects]


@dataclass(frozen=True)
class Ground:
    """A path with work at its end, and the trials on it."""

    path: ForwardingPath
    asked: Cell
    trials: Trials
    work: Busy

    def flood(self, more_ns: int) -> tuple[float, float]:
        """Flood with so much more work than A has; returns the time between frames, and what the work took, in ns."""
        self.work.ask(FLOODED_NS + more_ns)
        record = self.trials.usable(self.path, self.asked, emulated=False)
        _, period_ns = per_frame_ns(record)
        return period_ns, self.work.took().mean_ns


def _quad(ground: Ground, number: int, effect_percent: int, order: str, own_ns: float) -> Quad:
    more_ns = round(own_ns * effect_percent / (100 - effect_percent))
    begun, moment = time.monotonic(), datetime.now(UTC)
    floods = [(level, *ground.flood(more_ns if level == "B" else 0)) for level in order]
    (a_first, a_second), (b_first, b_second) = (_of(floods, level) for level in "AB")
    more_took_ns = (b_first[1] + b_second[1] - a_first[1] - a_second[1]) / 2
    period_ns = (a_first[0] + a_second[0]) / 2
    return Quad(
        at=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        machine=machine_in_words(),
        round=number,
        effect_percent=effect_percent,
        planted_percent=round(100 * more_took_ns / (period_ns + more_took_ns), 3),
        order=order,
        a_first_fps=round(1e9 / a_first[0], 1),
        a_second_fps=round(1e9 / a_second[0], 1),
        b_first_fps=round(1e9 / b_first[0], 1),
        b_second_fps=round(1e9 / b_second[0], 1),
        seconds=round(time.monotonic() - begun, 2),
    )


def _of(floods: list[tuple[str, float, float]], level: str) -> Iterator[tuple[float, float]]:
    return ((period_ns, took_ns) for each, period_ns, took_ns in floods if each == level)
