"""What a campaign asks of a kind of workload: to be refused or prepared, and paths with trials on them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from vtax.campaign.observed import Observed
from vtax.campaign.path import Path
from vtax.campaign.plan import BuildGroup
from vtax.campaign.progress import Progress
from vtax.campaign.trial import Finished, P, Trial
from vtax.keys.cell import Cell
from vtax.platforms import PlatformConfig, Preset, Probe
from vtax.scenario import Scenario
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import Machines


@dataclass(frozen=True)
class Setup:
    """A path, and how trials are made on it."""

    path: Path
    """Not open at first."""
    measure: Callable[[Cell, int, Mapping[str, GuestState], Probe], Finished]
    """Make and judge the trial of a number on the open path whose guests stand so. Never raises for what agents do."""

    @classmethod
    def of(cls, path: P, begin: Callable[[Observed], Trial[P]]) -> "Setup":
        """Make the trials on `path` that `begin` returns, of which nothing is known yet but what is asked."""

        def measure(cell: Cell, number: int, guests: Mapping[str, GuestState], probe: Probe) -> Finished:
            trial = begin(Observed(number, cell, datetime.now(UTC), emulated=probe.emulated))
            trial.measure(path, guests)
            return trial.finish()

        return cls(path, measure)


class Workload(ABC):
    """How a scenario's trials are made; one for a campaign."""

    def __init__(self, scenario: Scenario, cpus: dict[str, list[int]]) -> None:
        """Of a scenario, on a machine of such CPUs by role."""
        self.scenario, self.cpus = scenario, cpus

    @abstractmethod
    def check(self, cells: Sequence[Cell]) -> None:
        """Refuse what this testbed cannot carry, before anything starts; raises InputError."""

    def prepare(self, cells: Sequence[Cell], machines: Machines, progress: Progress) -> list[JsonValue]:
        """Find out what trials have to know of the testbed; returns it for campaign.json (`ceilings`).

        By default nothing: the workload finds its own pace. Raises InputError for a scenario that it refutes.
        """
        return []

    @abstractmethod
    def setup(self, group: BuildGroup, preset: Preset, config: PlatformConfig, machines: Machines) -> Setup:
        """Return a path for the cells of a group, and its trials."""
