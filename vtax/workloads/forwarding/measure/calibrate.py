"""The sources' own ceilings: what each mechanism offers when nothing behind the link slows it.

Measured by the sources' agents, their links' rates lifted, with every frame dropped where the source's links end (the
UUT's ingress, or the switch before a shared uplink), for each frame size and number of streams, all streams together,
of the kinds of load that cells are. They only choose the mechanism that a trial uses: what limited the trial is decided
by what happened in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self

from pydantic import JsonValue

from vtax import agent_api
from vtax.agent_api import (
    CalibratedLoad,
    IngressDropParams,
    Mechanism,
    MechanismRefusal,
    SourceCalibrateAnswer,
)
from vtax.keys.cell import Cell
from vtax.keys.frames import FrameSpec
from vtax.testbed.machines import Machines
from vtax.testbed.settings import LocalSettings
from vtax.trial.frames.measured import GENERATOR, OWN_MECHANISMS, PLAIN
from vtax.trial.frames.passage import Passage
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.forwarding.measure.path import forwarding_testbed

AMPLE = 1.25
"""A paced load is sent plainly where the plain mechanism's ceiling is this many times the intended rate."""
CALIBRATION_LIMIT_S = 60.0


class Traffic(NamedTuple):
    """What a ceiling depends on besides the links."""

    streams: int
    frames: FrameSpec
    threads: int = 1
    """Of each source."""

    @classmethod
    def of(cls, cell: Cell) -> Self:
        """That of a cell."""
        return cls(cell.streams, cell.frame_load.frames, cell.source_threads)


def load_of(cell: Cell) -> CalibratedLoad:
    """Return the kind of load that a cell is."""
    return "flood" if cell.frame_load.intended_mbps is None else "paced"


def asked(cells: Iterable[Cell]) -> list[tuple[Traffic, CalibratedLoad]]:
    """Return what has to be calibrated for these cells, each once, fewer streams first."""
    pairs = dict.fromkeys((Traffic.of(cell), load_of(cell)) for cell in cells)
    return sorted(pairs, key=lambda pair: (pair[0].streams, pair[0].threads))


def asked_mechanisms(cells: Iterable[Cell]) -> Sequence[Mechanism]:
    """Return the agents' own mechanisms, and the kernel's generator where a cell names it."""
    names_it = any(cell.of(Forwarding).mechanism == GENERATOR for cell in cells)
    return (*OWN_MECHANISMS, GENERATOR) if names_it else OWN_MECHANISMS


@dataclass(frozen=True)
class Ceiling:
    """Frames a second of all streams together, the median of a few rounds."""

    load: CalibratedLoad
    mechanism: Mechanism
    streams: int
    frame_bytes: int | str
    flows: int
    source_threads: int
    ceiling_fps: float

    def as_json(self) -> JsonValue:
        """For campaign.json."""
        return asdict(self)


class MechanismRefused(Exception):  # noqa: N818 - it states what the interface did
    """The mechanism that a scenario asks for is not to be had here; the message says why."""


class Ceilings:
    """What calibration found on one testbed."""

    def __init__(self) -> None:
        self._ceilings: dict[tuple[CalibratedLoad, Traffic], list[Ceiling]] = {}
        self.refused: dict[str, str] = {}
        """Why a mechanism is not used, by its name."""

    def add(self, load: CalibratedLoad, traffic: Traffic, found: SourceCalibrateAnswer) -> None:
        """Enter what was found: ceilings, the highest first, and refusals."""
        frames = traffic.frames
        self._ceilings[load, traffic] = [
            Ceiling(
                load,
                entry.mechanism,
                traffic.streams,
                frames.frame_bytes,
                frames.flows,
                traffic.threads,
                entry.ceiling_fps,
            )
            for entry in found.ceilings
        ]
        self.refused.update({entry.mechanism: entry.reason for entry in found.refused})

    def choose(self, cell: Cell) -> Ceiling:
        """The ceiling of the mechanism that is to send for `cell`; MechanismRefused where it was named and refused.

        A flood goes by the fastest, and so does a paced load that the plain mechanism would not reach with ease. The
        kernel's generator, whose frames have no time of their own, sends where it is named.
        A traced load goes plainly: its frames are followed from the source's queue on, which others pass by.
        """
        work, offered = cell.of(Forwarding), cell.frame_load
        ranked = self._ceilings[load_of(cell), Traffic.of(cell)]
        by_name: dict[str, Ceiling] = {ceiling.mechanism: ceiling for ceiling in ranked}
        if work.mechanism != "auto":
            if work.mechanism not in by_name:
                raise MechanismRefused(f"{work.mechanism} is refused here: {self.refused[work.mechanism]}")
            return by_name[work.mechanism]
        ranked = [ceiling for ceiling in ranked if ceiling.mechanism != GENERATOR]
        if work.is_traced:
            return by_name[PLAIN]
        if offered.intended_fps is not None:
            needed = cell.streams * offered.intended_fps
            if by_name[PLAIN].ceiling_fps >= AMPLE * needed:
                return by_name[PLAIN]
        return ranked[0]

    def as_json(self) -> list[JsonValue]:
        """For campaign.json."""
        return [ceiling.as_json() for ranked in self._ceilings.values() for ceiling in ranked]


def together(found: Sequence[SourceCalibrateAnswer], shares: Sequence[int]) -> SourceCalibrateAnswer:
    """What sources, each with its share of the streams, answered to `source.calibrate`, as if it were of one.

    No stream is offered more than the slowest source gives each of its own. What one source refuses, all do.
    """
    refused: dict[Mechanism, MechanismRefusal] = {
        entry.mechanism: entry for answer in found for entry in answer.refused
    }
    offered: dict[Mechanism, list[float]] = {}
    for answer, share in zip(found, shares, strict=True):
        for entry in answer.ceilings:
            offered.setdefault(entry.mechanism, []).append(entry.ceiling_fps * (sum(shares) / share))
    least = {mechanism: min(fps) for mechanism, fps in offered.items() if mechanism not in refused}
    ranked = sorted(least, key=least.__getitem__, reverse=True)
    ceilings = [agent_api.Ceiling(mechanism=mechanism, ceiling_fps=least[mechanism]) for mechanism in ranked]
    return SourceCalibrateAnswer(ceilings=ceilings, refused=list(refused.values()))


def calibrate(settings: LocalSettings, cells: Iterable[Cell], machines: Machines) -> Ceilings:
    """The ceilings of every mechanism for all `cells`, of the kinds of load that they are."""
    cells = list(cells)
    wanted, mechanisms = asked(cells), asked_mechanisms(cells)
    streams = max(traffic.streams for traffic, _ in wanted)
    testbed = forwarding_testbed(settings, "wire", streams, machines)
    passage = Passage.of(testbed)
    ceilings = Ceilings()
    try:
        testbed.build()
        entered = testbed.host(testbed.entries[0].host)
        entered.start_agent("ingress", "host")
        ingress = entered.api("ingress")
        ingress.ingress_drop(IngressDropParams(interfaces=[entry.interface for entry in testbed.entries]))
        for traffic, load in wanted:
            frames = traffic.frames
            sent = testbed.source_streams(traffic.streams, frames)
            passage.open_sources(sent, traffic.threads, mechanisms)
            found = passage.calibrate(frames.calibrate(load)).answers(CALIBRATION_LIMIT_S)
            ceilings.add(load, traffic, together(list(found.values()), passage.shares))
        ingress.ingress_release()
    finally:
        testbed.close()
    return ceilings
