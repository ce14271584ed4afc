"""What is known of every trial, whatever its workload: its host, its guests, its CPU time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias, TypeVar

from vtax.agent_api import CanaryReading, CpuReadAnswer
from vtax.keys.cell import Cell
from vtax.machine.bridge_netfilter import BridgeNetfilter
from vtax.testbed.cpu_time import Activity, CpuCounters, Owners
from vtax.testbed.guest_state import GuestState
from vtax.trial.beside import Beside
from vtax.trial.tracing.tracer import Traced

Reading = TypeVar("Reading")
Twice: TypeAlias = tuple[Reading, Reading]
"""A reading before a trial, or its window, and one after it."""
Speeds: TypeAlias = Mapping[str, Sequence[CanaryReading]]
"""How long fixed work took on CPUs of each machine, by the machine's name."""


@dataclass
class Observed:
    """A trial. `failure` is set, and the rest incomplete, when the instrument broke."""

    trial: int
    cell: Cell
    started_at: datetime
    failure: str | None = None
    emulated: bool = False
    """Whether guests' CPUs are emulated."""
    cpu: Twice[CpuCounters] | None = None
    """Host.counters of the UUT's host."""
    far_end_cpu: Twice[CpuCounters] | None = None
    """Host.counters of the CPU that bare far ends share."""
    sampled: CpuReadAnswer | None = None
    """What the CPUs' clocks found in the same time (CpuMeter.read); None where they are not sampled."""
    canary: Twice[Speeds] | None = None
    """How fast the CPUs were (Canary.read)."""
    owners: Owners = field(default_factory=lambda: Owners(threads={}, processes={}))
    """Whose the threads and processes were (Host.owners, Host.heirs)."""
    traced: Traced | None = None
    """Where packets spent their time; None where none was followed."""
    interference: Twice[Activity] | None = None
    """What else the UUT's host did (Host.surroundings)."""
    beside_uut: frozenset[str] = frozenset()
    """The hosts on the UUT's machine, whose processes `interference` tells of."""
    bridge_netfilter: dict[str, BridgeNetfilter | None] = field(default_factory=dict)
    """Whether bridges passed frames to netfilter at the trial's end, by host (Path.bridge_netfilter)."""
    guests: dict[str, tuple[GuestState, GuestState]] = field(default_factory=dict)
    """How each guest stood before and after, by its name; empty where the trial did not come to its end."""
    beside: Beside = field(default_factory=Beside)
    """What the neighbours did."""
    wall_s: float = 0.0
