"""Kind `bulk` of a campaign: streams between guests that are end hosts and their peers."""

from collections.abc import Sequence
from typing import Any

from vtax.campaign.bulk.judge import judge
from vtax.campaign.bulk.path import BulkPath
from vtax.campaign.bulk.rows import headline, record
from vtax.campaign.bulk.trial import Streamed, measure
from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished, settings_of
from vtax.campaign.plan import Plot
from vtax.campaign.progress import Progress
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, Preset, Probe
from vtax.results import TrialRecord
from vtax.scenario import Cell, Scenario
from vtax.testbed.shared import SharedTestbed


class Kind:
    """See vtax.campaign.kind.Kind."""

    def __init__(self, scenario: Scenario, cpus: dict[str, list[int]]) -> None:
        self._cpus = cpus

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Links of veth pairs."""
        for cell in cells:
            if problem := settings_of(cell, self._cpus).problem():
                raise scenario.error("flow_control", cell.testbed.flow_control, problem)

    def prepare(
        self, cells: Sequence[Cell], owned: OwnershipRecord, progress: Progress
    ) -> list[dict[str, Any]]:
        """A transport finds its own rate: nothing has a ceiling that is known beforehand."""
        return []

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, owned: OwnershipRecord) -> BulkPath:
        """With as many guests as the plot has."""
        first = plot.cells[0]
        testbed = SharedTestbed(settings_of(first, self._cpus), first.testbed.guests, owned, forwards=False)
        protocols = sorted({module for cell in plot.cells for module in cell.workload.protocols})
        samples_hz = max(cell.workload.cpu_samples_hz for cell in plot.cells)
        return BulkPath(preset, config, testbed, protocols, samples_hz)

    def measure(
        self, path: BulkPath, cell: Cell, number: int, guests: dict[str, dict[str, Any]], probe: Probe
    ) -> Finished:
        """As the transport goes."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        judgement = judge(measured, emulated=probe.emulated)
        broken = measured.failure is not None or is_broken(measured)
        return Finished(measured, judgement, headline(measured), broken)

    def record(
        self, path: BulkPath, finished: Finished, place: dict[str, Any], environment: dict[str, Any]
    ) -> TrialRecord:
        """See vtax.campaign.bulk.rows."""
        measured = finished.measured
        assert isinstance(measured, Streamed)  # noqa: S101 - of its own making
        return record(measured, finished.judgement, place, environment)
