"""What a campaign asks of a kind of workload.

A kind is a package beside this module, of the kind's name, whose module `kind` has a class `Kind`.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import JsonValue

from vtax.campaign.observed import Observed
from vtax.campaign.path import Path
from vtax.campaign.plan import Plot
from vtax.campaign.progress import Progress
from vtax.campaign.untenable import UNTENABLE, check_rows, untenable
from vtax.campaign.verdict import Judgement
from vtax.platforms import PlatformConfig, Preset, Probe
from vtax.results import Row, TrialRecord
from vtax.scenario import Cell, Scenario
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import Machines
from vtax.testbed.settings import LocalSettings

P = TypeVar("P", bound=Path)
Trial = TypeVar("Trial", bound=Observed)


@dataclass(frozen=True)
class Finished:
    """A trial that was made, and what is thought of it."""

    judgement: Judgement
    headline: str
    """Its most telling number, for whoever watches."""
    broken: bool
    """Whether the path can serve no other trial."""
    rows: Callable[[Row, str], TrialRecord]
    """Its rows, by the columns of `trials` that all kinds share and by the name of the UUT's machine."""
    failed: Callable[[BaseException], "Finished"]
    """The same trial where what agents answered makes no sense, as that error shows: it is invalid."""

    @classmethod
    def of(
        cls,
        measured: Trial,
        judge: Callable[[Trial], Judgement],
        headline: Callable[[Trial], str],
        broken: Callable[[Trial], bool],
        record: Callable[[Trial, Judgement, Row, str], TrialRecord],
    ) -> "Finished":
        """Judge a trial; see vtax.campaign.untenable."""

        def failed(error: BaseException) -> Finished:
            measured.failure = untenable(error, measured.guests)
            return cls.of(measured, judge, headline, broken, record)

        def rows(place: Row, machine: str) -> TrialRecord:
            made = record(measured, judgement, place, machine)
            check_rows(made)
            return made

        try:
            judgement = judge(measured)
            return cls(judgement, headline(measured), broken(measured), rows, failed)
        except UNTENABLE as error:
            if measured.failure is not None:  # nothing of it is evaluated: this is no agent's doing
                raise
            return failed(error)


class Kind(Protocol[P]):
    """How trials of a kind of workload are made; one for a campaign."""

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Refuse what this testbed cannot carry, before anything starts; raises InputError."""

    def prepare(self, cells: Sequence[Cell], machines: Machines, progress: Progress) -> list[JsonValue]:
        """Find out what trials have to know of the testbed; returns it for campaign.json (`ceilings`).

        Raises InputError for a scenario that it refutes.
        """

    def path(self, plot: Plot, preset: Preset, config: PlatformConfig, machines: Machines) -> P:
        """A path for the cells of a plot, not yet open."""

    def measure(
        self, path: P, cell: Cell, number: int, guests: dict[str, GuestState], probe: Probe
    ) -> Finished:
        """Make a trial on an open path whose guests stand so (Path.guest_states). Never raises for what agents do."""


def kind_of(scenario: Scenario, cpus: dict[str, list[int]]) -> Kind[Path]:
    """The kind that the scenario's workload is of, on a machine of such CPUs."""
    module = importlib.import_module(f"vtax.campaign.{scenario.file.workload.kind}.kind")
    kind: Kind[Path] = module.Kind(scenario, cpus)
    return kind


def settings_of(cell: Cell, cpus: dict[str, list[int]]) -> LocalSettings:
    """The local testbed as a cell wants it."""
    testbed = cell.testbed
    return LocalSettings(
        testbed.link_mbps,
        testbed.flow_control,
        testbed.mtu,
        cpus,
        cell.workload.encapsulation,
        testbed.is_shared,
        testbed.cap_mbps,
        testbed.switch,
        testbed.bridge_netfilter,
    )
