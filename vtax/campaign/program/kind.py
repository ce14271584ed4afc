"""Kind `program` of a campaign: a client program times a server program, run after run."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished, settings_of
from vtax.campaign.plan import Plot
from vtax.campaign.program.available import missing, missing_in_guests, needed
from vtax.campaign.program.judge import judge
from vtax.campaign.program.path import AcrossPath, InsidePath, ProgramPath
from vtax.campaign.program.rows import headline, record
from vtax.campaign.program.trial import measure
from vtax.campaign.progress import Progress
from vtax.platforms import PlatformConfig, Preset, Probe, presets
from vtax.scenario import Cell, Scenario
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import Machines
from vtax.testbed.pair import pair
from vtax.testbed.ring import ring
from vtax.testbed.testbed import Testbed


class Kind:
    """See vtax.campaign.kind.Kind."""

    def __init__(self, scenario: Scenario, cpus: dict[str, list[int]]) -> None:
        self.cpus = cpus
        self.files: Mapping[str, bytes] = scenario.files()

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Platforms that can start programs, two guests only where there are guests, programs that are there."""
        known = presets()
        able = ", ".join(name for name, preset in known.items() if preset.platform().programs_of is not None)
        for cell in cells:
            platform, work = known[cell.platform].platform(), cell.program
            if platform.programs_of is None:
                problem = f"no programs can be started in guests of {cell.platform}; allowed: {able}"
                raise scenario.error("platform", cell.platform, problem)
            if platform.port == "wire" and work.placement == "intra-host":
                problem = (
                    f"{cell.platform} is the host itself and has no two guests; allowed: inside, inter-host"
                )
                raise scenario.error("placement", work.placement, problem)
            if (unfit := settings_of(cell, self.cpus).problem()) is not None:
                raise scenario.error("flow_control", cell.testbed.flow_control, unfit)
            ends = (("server", work.server, False), ("client", work.client, work.has_bare_peer))
            for key, argv, is_bare in ends:
                look = missing if is_bare or platform.programs_of == "host" else missing_in_guests
                for name in needed(argv[0], self.files):
                    if (lack := look(name, work.packages)) is not None:
                        raise scenario.error(f"workload.{key}", argv[0], lack)

    def prepare(self, cells: Sequence[Cell], machines: Machines, progress: Progress) -> list[JsonValue]:
        """A client finds its own pace."""
        return []

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, machines: Machines) -> ProgramPath:
        """As the cells of the plot place their programs."""
        first = plot.cells[0]
        settings = settings_of(first, self.cpus)
        port_kind = settings.port_kind(preset.platform().port)
        path: ProgramPath
        if first.program.placement == "inside":
            path = InsidePath(preset, config, Testbed(ring(settings, port_kind, 1), machines), [], 0)
        else:
            network = pair(settings, port_kind, first.program.placement)
            path = AcrossPath(preset, config, Testbed(network, machines), [], 0)
        path.files = self.files
        path.packages = first.program.packages
        return path

    def measure(
        self, path: ProgramPath, cell: Cell, number: int, guests: dict[str, GuestState], probe: Probe
    ) -> Finished:
        """Iteration after iteration, as the client makes them."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        return Finished.of(measured, judge, headline, is_broken, record)
