"""The machines of a testbed file: reached over the user's own SSH, joined by the cables that it names."""

import contextlib
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.inputs.needs import Need
from vtax.machine.ssh import ssh_to
from vtax.platforms.launch import DIES_WITH_US
from vtax.testbed.clocks import ONE_CLOCK, ClockAhead, agree, compare
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, End, as_json, check_seats, host_names
from vtax.testbed.remote.file import ROLES, LinkKeys, MachineKeys, TestbedFile
from vtax.testbed.remote.machine import RemoteHost, RemoteMachine

BESIDE_SOURCE = ("switch", "far")
"""Hosts on the first source's machine."""
WATCHER = "instrument watch"


class SeveralMachines:
    """See vtax.testbed.machines.Machines."""

    def __init__(self, file: TestbedFile) -> None:
        self.name, self._file = file.name, file
        names = {str(role): file.roles.machines(role) for role in ROLES}
        self.roles = {role: host_names(role, len(several)) for role, several in names.items()}
        """See Machines."""
        self._places = dict(zip(chain(*self.roles.values()), chain(*names.values()), strict=True))
        """Which machine a host is on, by their names."""
        self._places |= dict.fromkeys(BESIDE_SOURCE, self._places["source"])
        self._machines: dict[str, RemoteMachine] = {}
        self._lent: dict[tuple[str, str], RemoteHost] = {}
        """Which host has an interface of a machine, or had it last."""
        self._one_clock: dict[tuple[RemoteMachine, RemoteMachine], bool] = {}
        """Of machines that say that they have one clock, whether they do."""

    @property
    def needs(self) -> list[Need]:
        """See Machines."""
        return [*self._file.needs]

    def as_json(self) -> dict[str, JsonValue]:
        """See Machines."""
        return {"name": self.name, "cpus": as_json(self.machine("uut").cpus), "file": self._file.as_json()}

    @contextlib.contextmanager
    def reach(self) -> Iterator[None]:
        """See Machines. Each is held from now on: its own vtax keeps others off it."""
        used = dict.fromkeys(self._places.values())
        with self.attempt(used) as found:
            for machine in found.values():
                if isinstance(machine, InputError):
                    raise machine
                self._machines[machine.name] = machine
            yield

    @contextlib.contextmanager
    def attempt(self, names: Iterable[str]) -> Iterator[dict[str, RemoteMachine | InputError]]:
        """The machines of these names while they are reached, or why one is not."""
        found: dict[str, RemoteMachine | InputError] = {}
        with tempfile.TemporaryDirectory(prefix="vtax-") as logs, contextlib.ExitStack() as leaving:
            for name in names:
                keys = self._file.machines[name]
                cpus = keys.cpus.model_dump() if keys.cpus is not None else None
                log = Path(logs) / f"{name}.log"
                machine = RemoteMachine(name, self._command(name), log, cpus, _trial(keys), keys.control)
                machine.is_emulated = keys.emulated is not None
                leaving.callback(machine.leave)
                try:
                    machine.reach()
                    found[name] = machine
                except InputError as error:
                    found[name] = error
            yield found

    def seat_threads(self, count: int) -> None:
        """See Machines."""
        for host in self.roles["source"]:
            machine = self.machine(host)
            check_seats(f"machine {machine.name}", machine.cpus, count)

    def hold(self, purpose: str) -> AbstractContextManager[None]:
        """They are held since they are reached, and clean up after themselves."""
        return contextlib.nullcontext()

    def machine(self, host: str) -> RemoteMachine:
        """The one that the host of a name is on."""
        return self._machines[self._places[host]]

    def host(self, name: str, *, far: bool = False) -> RemoteHost:
        """See Machines."""
        machine = self.machine(name)
        return machine.host(name, far=far and machine is self.machine("uut"))

    def join(self, one: End, other: End, mtu: int) -> None:
        """By the first cable between their machines that is free, those first that lead the same way.

        Hosts of one machine that has no cable to itself are joined as on one machine: by a veth pair.
        """
        near, far = self.machine(one.host.name), self.machine(other.host.name)
        if near is far and not self._cables(near.name, near.name):
            near.join(one, other, mtu)
            return
        for end, (machine, interface) in zip((one, other), self._cable(one.host, other.host), strict=True):
            assert isinstance(end.host, RemoteHost)  # noqa: S101 - made here
            self._lent[machine, interface] = end.host
            end.host.borrow(interface, end.place, mtu)

    def watcher(self, uut: Host, instrument: Agent) -> Agent:
        """One of its own where the instrument is on another machine."""
        if self.machine(uut.name) is self.machine(instrument[0].name):
            return instrument
        uut.start_agent(WATCHER, "agents")
        return uut, WATCHER

    def compare_clocks(self, pairs: Sequence[tuple[Host, Host]]) -> list[ClockAhead]:
        """See Machines. Each machine is asked once; exchanges follow each other at once, for clocks drift meanwhile."""
        both = [(self.machine(one.name), self.machine(other.name)) for one, other in pairs]
        apart = [pair for pair in both if not self._share_a_clock(*pair)]
        exchanges = {machine: machine.exchange_clocks() for machine in dict.fromkeys(chain(*apart))}
        clocks = {machine: machine.read_clock(ahead) for machine, ahead in exchanges.items()}
        return [
            compare(clocks[one], clocks[other]) if (one, other) in apart else ONE_CLOCK for one, other in both
        ]

    def _share_a_clock(self, one: RemoteMachine, other: RemoteMachine) -> bool:
        """Whether two machines are one by what they say and by their clocks: copies of a machine say the same."""
        if one is other or one.clock_identity != other.clock_identity:
            return one is other
        if (one, other) not in self._one_clock:
            self._one_clock[one, other] = agree(one.exchange_clocks(), other.exchange_clocks())
        return self._one_clock[one, other]

    def _cable(self, one: Host, other: Host) -> tuple[tuple[str, str], tuple[str, str]]:
        wanted = self.machine(one.name).name, self.machine(other.name).name
        forth = self._cables(*wanted)
        back = [(near, far) for far, near in self._cables(*reversed(wanted))]
        free = [(near, far) for near, far in (*forth, *back) if self._is_free(near) and self._is_free(far)]
        if not free:
            count = len(forth) if wanted[0] == wanted[1] else len(forth) + len(back)
            raise InputError(
                f"{self.name}: {count} links between {' and '.join(wanted)} are too few; "
                "add some to the testbed file, or measure fewer streams"
            )
        return free[0]

    def _cables(self, source: str, destination: str) -> list[tuple[tuple[str, str], tuple[str, str]]]:
        """Those that lead from one machine to another."""
        return [link.plugs for link in self._file.links if _ends(link) == (source, destination)]

    def _command(self, name: str) -> list[str]:
        """What leads to a machine's `vtax host --stdio`."""
        keys = self._file.machines[name]
        if keys.emulated is not None:
            taps = [far.partition("/")[2] for _, far in self._file.cables_of(name)]
            words = [sys.executable, "-m", "vtax.testbed.emulated", keys.emulated.model_dump_json(), *taps]
            return [*DIES_WITH_US, *words]
        if keys.ssh is not None:
            return ssh_to(keys.ssh, f"exec {keys.vtax} host --stdio")
        return [sys.executable, "-m", "vtax", "host", "--stdio"]

    def _is_free(self, plug: tuple[str, str]) -> bool:
        host = self._lent.get(plug)
        return host is None or plug[1] not in host.borrowed


def _trial(keys: MachineKeys) -> str:
    """What shows by hand whether a machine can be reached, and has vtax."""
    return f"ssh {keys.ssh} {keys.vtax} --version" if keys.ssh is not None else ""


def _ends(link: LinkKeys) -> tuple[str, str]:
    (one, _), (other, _) = link.plugs
    return one, other
