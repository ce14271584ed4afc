"""What kinds of workload between ends have in common."""

from collections.abc import Sequence
from typing import ClassVar

from vtax.keys.cell import Cell
from vtax.keys.workload import TimedKeys
from vtax.platforms import PlatformConfig, Preset, presets
from vtax.testbed.machines import Machines
from vtax.testbed.network import Network
from vtax.testbed.pair import Placement, pair
from vtax.testbed.shared import shared
from vtax.testbed.testbed import Testbed
from vtax.trial.endpoint_trial import EndpointTrial
from vtax.trial.endpoints.path import EndpointPath
from vtax.trial.neighbours.choose import neighbours_of
from vtax.trial.settings import settings_of
from vtax.trial.workload import BuildGroup, Setup, Workload


class EndpointWorkload(Workload):
    """Work between ends, which find their own rates. Guests share a link, or two ends are placed."""

    burst_frames: ClassVar[int | None] = None
    """What the link of two placed ends lets pass at once; None: as much as any host's."""
    trial: ClassVar[type[EndpointTrial]]
    """How a trial is made."""

    def check(self, cells: Sequence[Cell]) -> None:
        """Links of veth pairs; two guests of one host only where that has guests."""
        known = presets()
        for cell in cells:
            placement = self.placement(cell)
            if placement == "intra-host" and known[cell.platform].platform().port == "wire":
                problem = (
                    f"{cell.platform} is the host itself and has no two guests; "
                    "allowed with it: guest-to-peer, inter-host"
                )
                raise self.scenario.error("placement", placement, problem)
            if (unfit := settings_of(cell, self.cpus).problem()) is not None:
                raise self.scenario.error("flow_control", cell.testbed.flow_control, unfit)

    def setup(self, group: BuildGroup, preset: Preset, config: PlatformConfig, machines: Machines) -> Setup:
        """Return a path as the cells of the group have it."""
        first = group.cells[0]
        testbed = Testbed(self.network(first, preset), machines)
        neighbours = neighbours_of(first, testbed, preset, machines)
        protocols = sorted({module for cell in group.cells for module in cell.workload.protocols})
        samples_hz = max(cell.of(TimedKeys).cpu_samples_hz for cell in group.cells)
        path = EndpointPath(preset, config, testbed, protocols, samples_hz, neighbours)
        return Setup.of(path, self.trial)

    def network(self, cell: Cell, preset: Preset) -> Network:
        """Declare two ends, placed as the cell says, or as many guests as it has, all behind one link."""
        settings = settings_of(cell, self.cpus)
        port_kind = settings.port_kind(preset.platform().port)
        if placement := self.placement(cell):
            beside = cell.testbed.neighbour_guests if cell.testbed.neighbours_share_link else 0
            return pair(settings, port_kind, placement, self.burst_frames, beside)
        return shared(settings, port_kind, cell.testbed.guests, forwards=cell.workload.guests_forward)

    def placement(self, cell: Cell) -> Placement | None:
        """How two ends are placed that have a link of their own; None where guests share one."""
        return None
