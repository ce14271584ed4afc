"""vtax's own trials on a path that stays: as a campaign measures, judges and records them, repeated where invalid."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from pydantic import JsonValue

from vtax.inputs import Document
from vtax.keys.cell import Cell
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import Preset
from vtax.results import TrialRecord
from vtax.scenario import Scenario
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.machines import OneMachine
from vtax.trial.frames.measured import Measured
from vtax.trial.settings import settings_of
from vtax.trial.verdict import Judgement, Verdict
from vtax.workloads.forwarding.measure.path import ForwardingPath, forwarding_testbed
from vtax.workloads.forwarding.measure.rows import Instrument
from vtax.workloads.forwarding.measure.trial import ForwardingTrial

ATTEMPTS: Final = 3
"""As a campaign repeats invalid trials."""
WARMUP_S: Final = 0.2


class NoTrial(Exception):  # noqa: N818 - it states what vtax did
    """vtax has no usable trial to compare with: why."""


@dataclass
class Trials:
    """Trials of one run; their numbers tell their frames apart."""

    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def usable(self, path: ForwardingPath, cell: Cell, *, emulated: bool) -> TrialRecord:
        """Return a trial's rows; raises NoTrial where every attempt was invalid."""
        for _ in range(ATTEMPTS):
            judgement, record = self.judged(path, cell, emulated=emulated)
            if judgement.verdict is not Verdict.INVALID:
                return record
        raise NoTrial(f"{cell.platform}: {'; '.join(judgement.reasons)}")

    def judged(self, path: ForwardingPath, cell: Cell, *, emulated: bool) -> tuple[Judgement, TrialRecord]:
        """Make a trial; returns what is said of it, and its rows."""
        at = next(self.numbers)
        load = cell.frame_load
        measured = Measured(at, cell, datetime.now(UTC), load=load, emulated=emulated, mechanism="raw")
        measured.egress_words = path.egress_words
        trial = ForwardingTrial(measured, Instrument())
        trial.measure(path, path.guest_states())
        judgement = trial.judgement()
        return judgement, trial.record(judgement, {}, "local")


def cell(
    platform: str,
    frame_bytes: int,
    intended_mbps: float | Literal["max"],
    duration_s: float,
    streams: int = 1,
) -> Cell:
    """Return the cell of one platform at one load, as a scenario file would name it."""
    scenario: dict[str, JsonValue] = {
        "name": "validation/trials",
        "title": "Trials on a path that stays",
        "question": "Does vtax measure what is known to be true?",
        "workload": {
            "kind": "forwarding",
            "warmup_s": WARMUP_S,
            "duration_s": duration_s,
            "streams": streams,
            "frame_bytes": frame_bytes,
            "intended_mbps": intended_mbps,
        },
        "testbed": {"link_mbps": 1000, "flow_control": True, "mtu": 1500},
        "factors": {"platform": [platform]},
        "repetitions": 1,
        "figures": [],
    }
    (only,) = Scenario.from_document(Document(Path("validation/trials"), scenario)).cells()
    return only


@dataclass(frozen=True)
class Machine:
    """This machine, which no campaign of vtax's uses meanwhile: its CPUs by role, and what is made on it."""

    cpus: dict[str, list[int]]
    record: OwnershipRecord


@contextlib.contextmanager
def machine_held(what: str) -> Iterator[Machine]:
    """Hold the machine, for what is named so, with this process on the controller's CPUs."""
    affinity, cpus = os.sched_getaffinity(0), cpu_layout()
    with hold_host(what) as record:
        try:
            os.sched_setaffinity(0, cpus["controller"])
            yield Machine(cpus, record)
        finally:
            os.sched_setaffinity(0, affinity)


@contextlib.contextmanager
def path_of(
    preset: Preset, asked: Cell, machine: Machine, options: Mapping[str, JsonValue] = MappingProxyType({})
) -> Iterator[tuple[ForwardingPath, bool]]:
    """Open the path of a platform for trials of such a cell; `options` are the preset's, as after `platform.`.

    Yields the path, and whether a guest's CPU on it is emulated. Raises PlatformUnusable, PathFailed.
    """
    config = preset.resolve(options)
    emulated = preset.platform().prepare(config).emulated
    settings = settings_of(asked, machine.cpus)
    port_kind = settings.port_kind(preset.platform().port)
    testbed = forwarding_testbed(settings, port_kind, asked.streams, OneMachine(machine.record, machine.cpus))
    path = ForwardingPath(preset, config, testbed)
    try:
        path.open()
        yield path, emulated
    finally:
        path.close()
