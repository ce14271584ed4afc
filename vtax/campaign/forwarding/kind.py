"""Kind `forwarding` of a campaign: frames through the guests, their sources' ceilings known beforehand."""

from collections.abc import Sequence

from pydantic import JsonValue

from vtax.campaign.failures import BUILD_FAILURES
from vtax.campaign.forwarding.calibrate import Ceiling, Ceilings, MechanismRefused, calibrate
from vtax.campaign.forwarding.instrument import sink_is_lost
from vtax.campaign.forwarding.judge import judge
from vtax.campaign.forwarding.path import ForwardingPath, forwarding_testbed
from vtax.campaign.forwarding.rows import Instrument, headline, record
from vtax.campaign.forwarding.trial import Measured, measure
from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished, settings_of
from vtax.campaign.neighbours.choose import neighbours_of
from vtax.campaign.plan import Plot
from vtax.campaign.progress import Progress
from vtax.campaign.verdict import Judgement
from vtax.inputs import InputError
from vtax.platforms import PlatformConfig, Preset, Probe
from vtax.results import Row, TrialRecord
from vtax.scenario import Cell, Scenario
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import Machines
from vtax.testbed.settings import LocalSettings


class Kind:
    """See vtax.campaign.kind.Kind."""

    def __init__(self, scenario: Scenario, cpus: dict[str, list[int]]) -> None:
        self._scenario, self._cpus = scenario, cpus
        self._ceilings: dict[LocalSettings, Ceilings] = {}

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Links of veth pairs, and mechanisms that they take."""
        for cell in cells:
            settings, mechanism = settings_of(cell, self._cpus), cell.forwarding.mechanism
            if problem := settings.problem():
                raise scenario.error("flow_control", cell.testbed.flow_control, problem)
            if problem := settings.refusal(mechanism):
                raise scenario.error("workload.mechanism", mechanism, problem)

    def prepare(self, cells: Sequence[Cell], machines: Machines, progress: Progress) -> list[JsonValue]:
        """Calibrate the source on every testbed; a scenario that names a mechanism which is refused is refused."""
        loads: dict[LocalSettings, list[Cell]] = {}
        for cell in cells:
            loads.setdefault(settings_of(cell, self._cpus), []).append(cell)
        for settings, wanted in loads.items():
            progress.note("calibrating the source's ceilings")
            try:
                self._ceilings[settings] = calibrate(settings, wanted, machines)
            except BUILD_FAILURES as error:
                raise InputError(
                    f"the local testbed cannot be built here: {error}; see vtax doctor"
                ) from error
        self._check_mechanisms(cells, progress)
        return [ceiling for found in self._ceilings.values() for ceiling in found.as_json()]

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, machines: Machines) -> ForwardingPath:
        """With NICs for the most streams of the plot, and a sink with room for the most captured frames."""
        first = plot.cells[0]
        settings = settings_of(first, self._cpus)
        port_kind = settings.port_kind(preset.platform().port)
        streams = max(cell.streams for cell in plot.cells)
        testbed = forwarding_testbed(settings, port_kind, streams, machines)
        works = [cell.forwarding for cell in plot.cells]
        return ForwardingPath(
            preset,
            config,
            testbed,
            max(work.cpu_samples_hz for work in works),
            max(work.capture_frames for work in works),
            neighbours_of(first, testbed, preset, machines),
        )

    def measure(
        self,
        path: ForwardingPath,
        cell: Cell,
        number: int,
        guests: dict[str, GuestState],
        probe: Probe,
    ) -> Finished:
        """By the mechanism that calibration chooses."""
        ceiling, facts = self._ceiling(cell), path.facts
        assert facts is not None  # noqa: S101 - it is open
        measured = measure(path, cell, number, guests, mechanism=ceiling.mechanism, emulated=probe.emulated)
        link_mbps = cell.testbed.link_mbps
        instrument = Instrument(ceiling.ceiling_fps, facts.sink_mode, facts.sink_fallback, facts.sink_cost_ns)

        def rows(trial: Measured, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
            return record(trial, judgement, place, instrument, machine)

        return Finished.of(
            measured,
            lambda trial: judge(trial, link_mbps),
            headline,
            lambda trial: is_broken(trial) or sink_is_lost(trial),
            rows,
        )

    def _ceiling(self, cell: Cell) -> Ceiling:
        return self._ceilings[settings_of(cell, self._cpus)].choose(cell)

    def _check_mechanisms(self, cells: Sequence[Cell], progress: Progress) -> None:
        """Say which mechanisms are not used and why; refuse a scenario that names one of these."""
        refused = {
            f"{mechanism} is not used: {reason}"
            for found in self._ceilings.values()
            for mechanism, reason in found.refused.items()
        }
        for sentence in sorted(refused):
            progress.note(sentence)
        for cell in cells:
            try:
                self._ceiling(cell)
            except MechanismRefused as refusal:
                problem = f"{refusal}; allowed: auto, or a mechanism that is not refused"
                mechanism = cell.forwarding.mechanism
                raise self._scenario.error("workload.mechanism", mechanism, problem) from None
