"""Programs of a campaign: a client program times a server program, run after run."""

from collections.abc import Mapping, Sequence

from vtax.keys.cell import Cell
from vtax.platforms import PlatformConfig, Preset, presets
from vtax.testbed.machines import Machines
from vtax.testbed.pair import pair
from vtax.testbed.ring import ring
from vtax.testbed.testbed import Testbed
from vtax.trial.settings import settings_of
from vtax.trial.workload import Asking, BuildGroup, Setup, Workload
from vtax.workloads.program.keys import Program
from vtax.workloads.program.measure.available import missing, missing_in_guests, needed
from vtax.workloads.program.measure.path import AcrossPath, InsidePath, ProgramPath
from vtax.workloads.program.measure.trial import ProgramTrial


class ProgramWorkload(Workload):
    """Iterations as the client makes them."""

    def __init__(self, scenario: Asking, cpus: dict[str, list[int]]) -> None:
        super().__init__(scenario, cpus)
        self.files: Mapping[str, bytes] = scenario.files()

    def check(self, cells: Sequence[Cell]) -> None:
        """Platforms that can start programs, two guests only where there are guests, programs that are there."""
        known = presets()
        able = ", ".join(name for name, preset in known.items() if preset.platform().programs_of is not None)
        for cell in cells:
            platform, work = known[cell.platform].platform(), cell.of(Program)
            if platform.programs_of is None:
                problem = f"no programs can be started in guests of {cell.platform}; allowed: {able}"
                raise self.scenario.error("platform", cell.platform, problem)
            if platform.port == "wire" and work.placement == "intra-host":
                problem = (
                    f"{cell.platform} is the host itself and has no two guests; allowed: inside, inter-host"
                )
                raise self.scenario.error("placement", work.placement, problem)
            if (unfit := settings_of(cell, self.cpus).problem()) is not None:
                raise self.scenario.error("flow_control", cell.testbed.flow_control, unfit)
            ends = (("server", work.server, False), ("client", work.client, work.has_bare_peer))
            for key, argv, is_bare in ends:
                look = missing if is_bare or platform.programs_of == "host" else missing_in_guests
                for name in needed(argv[0], self.files):
                    if (lack := look(name, work.packages)) is not None:
                        raise self.scenario.error(f"workload.{key}", argv[0], lack)

    def setup(self, group: BuildGroup, preset: Preset, config: PlatformConfig, machines: Machines) -> Setup:
        """Return a path as the cells of the group place their programs."""
        first = group.cells[0]
        work = first.of(Program)
        settings = settings_of(first, self.cpus)
        port_kind = settings.port_kind(preset.platform().port)
        path: ProgramPath
        if work.placement == "inside":
            path = InsidePath(preset, config, Testbed(ring(settings, port_kind, 1), machines), [], 0)
        else:
            network = pair(settings, port_kind, work.placement)
            path = AcrossPath(preset, config, Testbed(network, machines), [], 0)
        path.files = self.files
        path.packages = work.packages
        return Setup.of(path, ProgramTrial)
