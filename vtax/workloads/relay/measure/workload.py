"""Relays of a campaign: rounds of a message through a ring of them, run after run."""

from collections.abc import Sequence

from vtax.keys.cell import Cell
from vtax.platforms import PlatformConfig, Preset, presets
from vtax.testbed.machines import Machines
from vtax.testbed.ring import ring
from vtax.testbed.testbed import Testbed
from vtax.trial.ring_path import RingPath
from vtax.trial.settings import settings_of
from vtax.trial.workload import BuildGroup, Setup, Workload
from vtax.workloads.relay.keys import Relay
from vtax.workloads.relay.measure.trial import RelayTrial


class RelayWorkload(Workload):
    """Rounds one after the other, or as often as the interval says."""

    def check(self, cells: Sequence[Cell]) -> None:
        """Several guests only where the host has guests."""
        known = presets()
        for cell in cells:
            is_host = known[cell.platform].platform().port == "wire"
            if is_host and not cell.of(Relay).is_in_one_guest:
                problem = f"{cell.platform} is the host itself and has one kernel; allowed with it: one-guest"
                raise self.scenario.error("placement", cell.of(Relay).placement, problem)

    def setup(self, group: BuildGroup, preset: Preset, config: PlatformConfig, machines: Machines) -> Setup:
        """Return a path of as many guests as any cell of the group takes."""
        guests = max(cell.guests for cell in group.cells)
        settings = settings_of(group.cells[0], self.cpus)
        network = ring(settings, settings.port_kind(preset.platform().port), guests)
        return Setup.of(RingPath(preset, config, Testbed(network, machines), [], 0), RelayTrial)
