"""What kinds of workload between ends have in common as kinds."""

from collections.abc import Sequence
from typing import Any, ClassVar

from vtax.campaign.ends import EndsPath
from vtax.campaign.kind import settings_of
from vtax.campaign.plan import Plot
from vtax.campaign.progress import Progress
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, Preset
from vtax.scenario import Cell, Scenario
from vtax.testbed.shared import SharedTestbed


class EndsKind:
    """A kind on the shared testbed that knows nothing beforehand: ends find their own rates."""

    path_class: ClassVar[type[EndsPath]]

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

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, owned: OwnershipRecord) -> EndsPath:
        """With as many guests as the plot has."""
        first = plot.cells[0]
        settings = settings_of(first, self._cpus)
        forwards = first.workload.guests_forward
        testbed = SharedTestbed(settings, first.testbed.guests, owned, forwards=forwards)
        protocols = sorted({module for cell in plot.cells for module in cell.workload.protocols})
        samples_hz = max(cell.workload.cpu_samples_hz for cell in plot.cells)
        return self.path_class(preset, config, testbed, protocols, samples_hz)
