"""The machines of a testbed: where its hosts are, and what joins them."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.inputs.needs import Need
from vtax.inputs.own_file import FoundFile, find_file
from vtax.machine.emulation import is_emulated
from vtax.machine.environment import HostEnvironment, environment_columns, host_environment
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, Probe, load_kind
from vtax.platforms.raw import require_protocols
from vtax.testbed.clocks import ONE_CLOCK, ClockAhead
from vtax.testbed.end_acts import EndAct
from vtax.testbed.host import Host
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.link import EndPlace, LinkEnd, make_link
from vtax.testbed.ports import PORTS

Agent = tuple[Host, str]
"""An agent by its host and name."""
T = TypeVar("T")


def turn_of(stream: int, several: Sequence[T]) -> T:
    """Whose turn a stream is: sources, and sinks, take turns by the streams' numbers."""
    return several[stream % len(several)]


@dataclass(frozen=True)
class End:
    """One end of a link: an interface of a host, and its MAC address."""

    host: Host
    interface: str
    mac: str

    @property
    def place(self) -> EndPlace:
        """As methods of its host take it."""
        return EndPlace(self.interface, self.mac)

    def set(self, act: EndAct) -> None:
        """Have its host carry out an act at it."""
        self.host.set_end(self.place, act)


def far_cpus(cpus: dict[str, list[int]]) -> dict[str, list[int]]:
    """The CPUs of a host that is far from the UUT and yet on its machine, by role."""
    return {**cpus, "host": cpus["agents"], "guests": cpus["agents"]}


def check_seats(machine: str, cpus: Mapping[str, Sequence[int]], count: int) -> None:
    """Raise InputError where the agents of a machine have no CPUs for so many threads that send."""
    if (seats := len(cpus["agents"])) < count:
        raise InputError(
            f"workload.source_threads: {count} threads need a CPU each, and the agents of the {machine} have {seats}; "
            f"allowed there: 1 to {seats}, or a testbed file with more (machines.NAME.cpus)"
        )


def as_json(cpus: Mapping[str, Sequence[int]]) -> dict[str, JsonValue]:
    """CPUs by role as JSON."""
    return {role: [*numbers] for role, numbers in cpus.items()}


def host_names(role: str, count: int) -> list[str]:
    """The names of so many hosts of a role: from the second on with a number, as in source, source1, source2."""
    return [f"{role}{number or ''}" for number in range(count)]


class Machine(Protocol):
    """A machine that hosts are on: what it is, and what can run there."""

    name: str
    cpus: dict[str, list[int]]
    """By role: agents, host, guests, controller."""
    is_emulated: bool
    """Whether vtax emulates it."""

    def environment(self) -> HostEnvironment:
        """What it is, for campaign.json."""

    def environment_columns(self) -> dict[str, str | None]:
        """The same as columns of a result."""

    def find_file(self, kind: str, config: PlatformConfig, key: str) -> FoundFile:
        """Look at the file of the user's own that a key of a platform names; raises InputError."""

    def prepare(self, kind: str, config: PlatformConfig, packages: Sequence[str] | None) -> Probe:
        """Make a platform ready there; raises PlatformUnusable and what preparing raises."""

    def check_protocols(self, kind: str, config: PlatformConfig, protocols: Sequence[str]) -> None:
        """Look whether guests there can speak these; raises PlatformUnusable."""

    def require_protocols(self, protocols: Sequence[str]) -> None:
        """The same of its own kernel."""

    def find_switch(self, name: str) -> dict[str, str]:
        """Facts about a switch that guests' NICs meet a host at; raises PlatformUnusable where there is none."""


class Machines(Protocol):
    """All machines of a testbed."""

    name: str

    @property
    def roles(self) -> dict[str, list[str]]:
        """The names of the hosts by role (source, uut, sink); of several sources, and sinks, streams take turns."""

    @property
    def needs(self) -> Sequence[Need]:
        """What it takes of the user to reach and use them."""

    def as_json(self) -> dict[str, JsonValue]:
        """For campaign.json: their name, the CPUs of the UUT's machine, and all that reaching them again takes."""

    def reach(self) -> AbstractContextManager[None]:
        """Have every machine answer while this is open; raises InputError for one that does not."""

    def seat_threads(self, count: int) -> None:
        """See that each source has CPUs for so many threads that send; raises InputError where there are fewer."""

    def hold(self, purpose: str) -> AbstractContextManager[None]:
        """Keep others off them, and remove all that was made there at the end."""

    def machine(self, host: str) -> Machine:
        """The one that the host of a name is on."""

    def host(self, name: str, *, far: bool = False) -> Host:
        """A host of a name, not yet made. On the UUT's machine a `far` one has the agents' CPUs and no other."""

    def join(self, one: End, other: End, mtu: int) -> None:
        """Make a link of two ends, or take the one that is there; raises OSError."""

    def watcher(self, uut: Host, instrument: Agent) -> Agent:
        """Who watches the kernel of the UUT's machine: an agent of the instrument's, or one of its own."""

    def compare_clocks(self, pairs: Sequence[tuple[Host, Host]]) -> list[ClockAhead]:
        """Of each two hosts, how far the second's clock is ahead of the first's by now."""


class ThisMachine:
    """The machine that vtax runs on."""

    name = "local"

    def __init__(self, cpus: dict[str, list[int]] | None = None) -> None:
        """Which CPUs serve whom is chosen here where it is not told."""
        self.cpus = cpus or cpu_layout()
        self.is_emulated = is_emulated()

    def environment(self) -> HostEnvironment:
        """See Machine."""
        return host_environment()

    def environment_columns(self) -> dict[str, str | None]:
        """See Machine."""
        return environment_columns()

    def find_file(self, kind: str, config: PlatformConfig, key: str) -> FoundFile:
        """See Machine."""
        return find_file(
            config.own_files[key], config.file_keys()[key], open_to_all=key in config.shared_files
        )

    def prepare(self, kind: str, config: PlatformConfig, packages: Sequence[str] | None) -> Probe:
        """See Machine. On an emulated machine everything is emulated."""
        probe: Probe = load_kind(kind).Kind().prepare(config, packages)
        return replace(probe, accelerator="emulated") if self.is_emulated else probe

    def check_protocols(self, kind: str, config: PlatformConfig, protocols: Sequence[str]) -> None:
        """See Machine."""
        load_kind(kind).Kind().check_protocols(config, protocols)

    def require_protocols(self, protocols: Sequence[str]) -> None:
        """See Machine."""
        require_protocols(protocols)

    def find_switch(self, name: str) -> dict[str, str]:
        """See Machine."""
        return PORTS[name].find()


class OneMachine:
    """The built-in testbed: hosts are network namespaces of this machine, links are veth pairs."""

    name = "local"

    def __init__(
        self, record: OwnershipRecord | None = None, cpus: dict[str, list[int]] | None = None
    ) -> None:
        """`record` belongs to whoever holds the machine already, and `cpus` are those that they chose, by role.

        Whoever holds it runs on the controller's CPUs, and can choose no others any more.
        """
        self._here = ThisMachine(cpus)
        self._are_chosen = cpus is not None
        self._record = record

    @property
    def roles(self) -> dict[str, list[str]]:
        """See Machines."""
        return {role: host_names(role, 1) for role in ("source", "uut", "sink")}

    @property
    def needs(self) -> Sequence[Need]:
        """Nothing: it is the one that vtax was started on."""
        return ()

    def as_json(self) -> dict[str, JsonValue]:
        """See Machines."""
        return {"name": self.name, "cpus": as_json(self._here.cpus)}

    def reach(self) -> AbstractContextManager[None]:
        """It is here."""
        return contextlib.nullcontext()

    def seat_threads(self, count: int) -> None:
        """See Machines. Which CPUs serve whom is chosen anew for them, unless whoever holds it chose."""
        if not self._are_chosen:
            self._here.cpus = cpu_layout(agents=count)
        check_seats(f"{self.name} machine", self._here.cpus, count)

    @contextlib.contextmanager
    def hold(self, purpose: str) -> Iterator[None]:
        """See Machines. The controller runs on CPUs of its own meanwhile."""
        with hold_host(purpose) as self._record:
            affinity = os.sched_getaffinity(0)
            os.sched_setaffinity(0, self._here.cpus["controller"])
            try:
                yield
            finally:
                os.sched_setaffinity(0, affinity)

    def machine(self, host: str) -> ThisMachine:
        """This one."""
        return self._here

    def host(self, name: str, *, far: bool = False) -> Host:
        """See Machines."""
        assert self._record is not None  # noqa: S101 - it is held
        return Host(name, self._record, far_cpus(self._here.cpus) if far else self._here.cpus)

    def join(self, one: End, other: End, mtu: int) -> None:
        """By a veth pair."""
        near, far = (LinkEnd(end.host.namespace, end.interface, end.mac) for end in (one, other))
        make_link(near, far, mtu)

    def watcher(self, uut: Host, instrument: Agent) -> Agent:
        """All have one kernel."""
        return instrument

    def compare_clocks(self, pairs: Sequence[tuple[Host, Host]]) -> list[ClockAhead]:
        """All have one kernel."""
        return [ONE_CLOCK] * len(pairs)
