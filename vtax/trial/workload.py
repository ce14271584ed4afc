"""What a campaign asks of a kind of workload: to be refused or prepared, and paths with trials on them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.keys.fields import Scalar
from vtax.platforms import PlatformConfig, Preset, Probe
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import Machines
from vtax.trial.canary import Band
from vtax.trial.observed import Observed
from vtax.trial.path import Path
from vtax.trial.template import Finished, P, Trial


@dataclass(frozen=True)
class BuildGroup:
    """Cells of a block that share one built testbed and one guest, in the order they are measured."""

    key: str
    cells: tuple[Cell, ...]


class Asking(Protocol):
    """The scenario whose cells are measured, as far as a workload goes back to it."""

    def error(self, key: str, value: Scalar, problem: str) -> InputError:
        """Say what is wrong with `value` of the factor or dotted key `key`, and where it was given."""

    @property
    def chooses_loads(self) -> bool:
        """Whether the loads of trials are chosen for what earlier ones showed, and are not their cells'."""

    def files(self) -> dict[str, bytes]:
        """Read the files that it names, by their names. Raises InputError."""


@dataclass(frozen=True)
class Setup:
    """A path, and how trials are made on it."""

    path: Path
    """Not open at first."""
    measure: Callable[[Cell, int, Mapping[str, GuestState], Probe, Band], Finished]
    """Make and judge the trial of a number on the open path whose guests stand so. Never raises for what agents do."""

    @classmethod
    def of(cls, path: P, begin: Callable[[Observed], Trial[P]]) -> "Setup":
        """Make the trials on `path` that `begin` returns, of which nothing is known yet but what is asked."""

        def measure(
            cell: Cell, number: int, guests: Mapping[str, GuestState], probe: Probe, band: Band
        ) -> Finished:
            trial = begin(Observed(number, cell, datetime.now(UTC), emulated=probe.emulated))
            trial.band = band
            trial.measure(path, guests)
            return trial.finish()

        return cls(path, measure)


class Workload(ABC):
    """How a scenario's trials are made; one for a campaign."""

    def __init__(self, scenario: Asking, cpus: dict[str, list[int]]) -> None:
        """Of a scenario, on a machine of such CPUs by role."""
        self.scenario, self.cpus = scenario, cpus

    @abstractmethod
    def check(self, cells: Sequence[Cell]) -> None:
        """Refuse what this testbed cannot carry, before anything starts; raises InputError."""

    def prepare(
        self, cells: Sequence[Cell], machines: Machines, note: Callable[[str], None]
    ) -> list[JsonValue]:
        """Find out what trials have to know of the testbed; returns it for campaign.json (`ceilings`).

        `note` tells users what it takes time for, and what they should know.

        By default nothing: the workload finds its own pace. Raises InputError for a scenario that it refutes.
        """
        return []

    @abstractmethod
    def setup(self, group: BuildGroup, preset: Preset, config: PlatformConfig, machines: Machines) -> Setup:
        """Return a path for the cells of a group, and its trials."""
