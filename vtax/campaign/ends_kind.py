"""What kinds of workload between ends have in common as kinds."""

from collections.abc import Sequence
from typing import Any, ClassVar

from vtax.campaign.ends import EndsPath, EndsTestbed
from vtax.campaign.kind import settings_of
from vtax.campaign.plan import Plot
from vtax.campaign.progress import Progress
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, Preset
from vtax.scenario import Cell, Scenario
from vtax.testbed.shared import SharedTestbed


class EndsKind:
    """A kind that knows nothing beforehand: ends find their own rates. On the shared testbed unless it says so."""

    path_class: ClassVar[type[EndsPath]]

    def __init__(self, scenario: Scenario, cpus: dict[str, list[int]]) -> None:
        self.cpus = cpus

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Links of veth pairs."""
        for cell in cells:
            if problem := settings_of(cell, self.cpus).problem():
                raise scenario.error("flow_control", cell.testbed.flow_control, problem)

    def prepare(
        self, cells: Sequence[Cell], owned: OwnershipRecord, progress: Progress
    ) -> list[dict[str, Any]]:
        """A transport finds its own rate: nothing has a ceiling that is known beforehand."""
        return []

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, owned: OwnershipRecord) -> EndsPath:
        """As the cells of the plot have it."""
        testbed = self.testbed(plot.cells[0], owned)
        protocols = sorted({module for cell in plot.cells for module in cell.workload.protocols})
        samples_hz = max(cell.workload.cpu_samples_hz for cell in plot.cells)
        return self.path_class(preset, config, testbed, protocols, samples_hz)

    def testbed(self, cell: Cell, owned: OwnershipRecord) -> EndsTestbed:
        """With as many guests as a cell has, all behind one link."""
        settings = settings_of(cell, self.cpus)
        return SharedTestbed(settings, cell.testbed.guests, owned, forwards=cell.workload.guests_forward)
