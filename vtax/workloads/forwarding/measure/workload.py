"""Forwarding in a campaign: frames through the guests, their sources' ceilings known beforehand."""

from collections.abc import Callable, Sequence
from functools import partial

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.platforms import PlatformConfig, Preset
from vtax.testbed.machines import Machines
from vtax.testbed.settings import LocalSettings
from vtax.trial.failures import BUILD_FAILURES
from vtax.trial.frames.measured import Measured
from vtax.trial.neighbours.choose import neighbours_of
from vtax.trial.observed import Observed
from vtax.trial.settings import settings_of
from vtax.trial.workload import Asking, BuildGroup, Setup, Workload
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.forwarding.measure.calibrate import Ceiling, Ceilings, MechanismRefused, calibrate
from vtax.workloads.forwarding.measure.path import ForwardingPath, forwarding_testbed
from vtax.workloads.forwarding.measure.rows import Instrument
from vtax.workloads.forwarding.measure.trial import ForwardingTrial

ANY_MBPS = 1.0
"""A load in the place of those that a search chooses: all that counts is that they are paced."""


class ForwardingWorkload(Workload):
    """Frames by the mechanism that calibration chooses."""

    def __init__(self, scenario: Asking, cpus: dict[str, list[int]]) -> None:
        super().__init__(scenario, cpus)
        self._ceilings: dict[LocalSettings, Ceilings] = {}

    def check(self, cells: Sequence[Cell]) -> None:
        """Links of veth pairs, and mechanisms that they take."""
        for cell in cells:
            settings, mechanism = settings_of(cell, self.cpus), cell.of(Forwarding).mechanism
            if problem := settings.problem():
                raise self.scenario.error("flow_control", cell.testbed.flow_control, problem)
            if problem := settings.refusal(mechanism):
                raise self.scenario.error("workload.mechanism", mechanism, problem)

    def prepare(
        self, cells: Sequence[Cell], machines: Machines, note: Callable[[str], None]
    ) -> list[JsonValue]:
        """Calibrate the source on every testbed; a scenario that names a mechanism which is refused is refused."""
        self._check_split(cells, len(machines.roles["source"]))
        if self.scenario.chooses_loads:
            cells = [cell.at_step(0, ANY_MBPS, cell.frame_load.duration_s) for cell in cells]
        loads: dict[LocalSettings, list[Cell]] = {}
        for cell in cells:
            loads.setdefault(settings_of(cell, self.cpus), []).append(cell)
        for settings, wanted in loads.items():
            note("calibrating the source's ceilings")
            try:
                self._ceilings[settings] = calibrate(settings, wanted, machines)
            except BUILD_FAILURES as error:
                raise InputError(
                    f"the local testbed cannot be built here: {error}; see vtax doctor"
                ) from error
        self._check_mechanisms(cells, note)
        return [ceiling for found in self._ceilings.values() for ceiling in found.as_json()]

    def setup(self, group: BuildGroup, preset: Preset, config: PlatformConfig, machines: Machines) -> Setup:
        """Return a path with NICs for the most streams of the group, and a sink with room for all captured frames."""
        first = group.cells[0]
        settings = settings_of(first, self.cpus)
        port_kind = settings.port_kind(preset.platform().port)
        streams = max(cell.streams for cell in group.cells)
        testbed = forwarding_testbed(settings, port_kind, streams, machines)
        works = [cell.of(Forwarding) for cell in group.cells]
        path = ForwardingPath(
            preset,
            config,
            testbed,
            max(work.cpu_samples_hz for work in works),
            max(work.capture_frames for work in works),
            neighbours_of(first, testbed, preset, machines),
        )
        return Setup.of(path, partial(self._trial, path))

    def _trial(self, path: ForwardingPath, observed: Observed) -> ForwardingTrial:
        """Begin a trial by the mechanism that calibration chooses."""
        ceiling = self._ceiling(observed.cell)
        return ForwardingTrial(
            Measured(
                observed.trial,
                observed.cell,
                observed.started_at,
                load=observed.cell.frame_load,
                emulated=observed.emulated,
                mechanism=ceiling.mechanism,
                egress_words=path.egress_words,
            ),
            Instrument.of(ceiling.ceiling_fps, path.facts),
        )

    def _ceiling(self, cell: Cell) -> Ceiling:
        return self._ceilings[settings_of(cell, self.cpus)].choose(cell)

    def _check_split(self, cells: Sequence[Cell], sources: int) -> None:
        """Refuse threads that cannot share the streams of each of several sources, which take turns at them."""
        for cell in cells:
            shares = [len(range(first, cell.streams, sources)) for first in range(min(sources, cell.streams))]
            work = cell.of(Forwarding)
            if (problem := work.split_problem(*shares)) is not None:
                raise self.scenario.error("workload.source_threads", work.source_threads, problem)

    def _check_mechanisms(self, cells: Sequence[Cell], note: Callable[[str], None]) -> None:
        """Say which mechanisms are not used and why; refuse a scenario that names one of these."""
        refused = {
            f"{mechanism} is not used: {reason}"
            for found in self._ceilings.values()
            for mechanism, reason in found.refused.items()
        }
        for sentence in sorted(refused):
            note(sentence)
        for cell in cells:
            try:
                self._ceiling(cell)
            except MechanismRefused as refusal:
                problem = f"{refusal}; allowed: auto, or a mechanism that is not refused"
                mechanism = cell.of(Forwarding).mechanism
                raise self.scenario.error("workload.mechanism", mechanism, problem) from None
