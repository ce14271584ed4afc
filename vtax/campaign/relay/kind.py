"""Kind `relay` of a campaign: rounds of a message through a ring of relays, run after run."""

from collections.abc import Sequence

from pydantic import JsonValue

from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished, settings_of
from vtax.campaign.plan import Plot
from vtax.campaign.progress import Progress
from vtax.campaign.relay.judge import judge
from vtax.campaign.relay.rows import headline, record
from vtax.campaign.relay.trial import measure
from vtax.campaign.ring_path import RingPath
from vtax.platforms import PlatformConfig, Preset, Probe, presets
from vtax.scenario import Cell, Scenario
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import Machines
from vtax.testbed.ring import ring
from vtax.testbed.testbed import Testbed


class Kind:
    """See vtax.campaign.kind.Kind."""

    def __init__(self, scenario: Scenario, cpus: dict[str, list[int]]) -> None:
        self.cpus = cpus

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Several guests only where the host has guests."""
        known = presets()
        for cell in cells:
            is_host = known[cell.platform].platform().port == "wire"
            if is_host and not cell.relay.is_in_one_guest:
                problem = f"{cell.platform} is the host itself and has one kernel; allowed with it: one-guest"
                raise scenario.error("placement", cell.relay.placement, problem)

    def prepare(self, cells: Sequence[Cell], machines: Machines, progress: Progress) -> list[JsonValue]:
        """A message finds its own pace."""
        return []

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, machines: Machines) -> RingPath:
        """As many guests as any cell of the plot takes."""
        guests = max(cell.guests for cell in plot.cells)
        settings = settings_of(plot.cells[0], self.cpus)
        network = ring(settings, settings.port_kind(preset.platform().port), guests)
        return RingPath(preset, config, Testbed(network, machines), [], 0)

    def measure(
        self, path: RingPath, cell: Cell, number: int, guests: dict[str, GuestState], probe: Probe
    ) -> Finished:
        """Round after round, or as often as the interval says."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        return Finished.of(measured, judge, headline, is_broken, record)
