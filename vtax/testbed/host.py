"""One machine of a testbed. Methods are whole acts; they take and return values that JSON can hold.

So a host may be in this process, as the namespaces of the local testbed are, or at the far end of a byte stream,
with no other difference to its callers.
"""

import errno
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import Raw
from pyroute2.netlink.exceptions import NetlinkError

from vtax import agent_api
from vtax.agent_api import AgentApi
from vtax.inputs import one_line
from vtax.inputs.own_file import check_unchanged
from vtax.machine.agent import HELLO_TIMEOUT_S, Agent, AgentBreach, AgentError, AgentGone, start_agent
from vtax.machine.borrowed_nic import BorrowedNic, borrow, problem_of
from vtax.machine.bridge_netfilter import BridgeNetfilter, read_bridge_netfilter
from vtax.machine.clock import clock_offset_ns
from vtax.machine.emulation import patience
from vtax.machine.ingress import thread_ingress
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import Guest, GuestNic, GuestPlan, config_of, load_kind
from vtax.stages.hooks import NicKind
from vtax.stages.interfaces import interfaces_of
from vtax.stages.trails import Joint
from vtax.testbed.accounts import HOST, INGRESS, Account
from vtax.testbed.addressing import Station
from vtax.testbed.cap import Cap
from vtax.testbed.counters import InterfaceCounters, interface_counters
from vtax.testbed.cpu_time import (
    Activity,
    CpuCounters,
    Owners,
    count_time,
    foreign_processes,
    heirs_of,
    threads_of,
    withheld,
)
from vtax.testbed.end_acts import EndAct
from vtax.testbed.guest_state import Condition, GuestState
from vtax.testbed.link import EndPlace, LinkEnd
from vtax.testbed.ports import PORTS, Port, Site, Surroundings
from vtax.testbed.scheduling import Scheduling

GUEST_PATIENCE_S = 5.0
"""A guest that says nothing for so long hangs."""
GONE = {errno.ENODEV, errno.ENOENT, errno.ESRCH}


@dataclass(frozen=True)
class PortNic:
    """A NIC of a guest that is to be started, at a port of its host."""

    mac: str
    port: str
    mtu: int


@dataclass(frozen=True)
class Started:
    """What starting a guest showed."""

    hello_s: float
    """How long its agent took to its first message."""
    modules: list[str]
    """Names of lists of kernel modules, which its agent has to load."""


@dataclass(frozen=True)
class Borrowed:
    """What an interface of the machine was before it was borrowed."""

    mtu: int
    offloads: list[str]
    """Those that were on, by ethtool's long names."""


class Host:
    """A host whose interfaces are those of one network namespace."""

    def __init__(self, name: str, record: OwnershipRecord, cpus: dict[str, list[int]]) -> None:
        self.name = name
        self.namespace = Namespace(f"{record.run}-{name}")
        self._record = record
        self.cpus = cpus
        """By role."""
        self._agents: dict[str, Agent] = {}
        self._guests: dict[str, Guest] = {}
        self._ports: dict[str, Port] = {}
        self._surroundings = Surroundings(name, record, cpus["host"])
        self._ingress_threads: dict[Account, list[int]] = {}
        self._scheduling = Scheduling(record, cpus)
        self._borrowed: list[BorrowedNic] = []

    @property
    def shares_clock(self) -> bool:
        """Whether its clocks are the controller's."""
        return True

    def is_beside(self, other: "Host") -> bool:
        """Whether both are on one machine."""
        return True

    def create(self, bridge_netfilter: bool = False) -> None:
        """Make the host's namespace; its bridges pass frames to netfilter where `bridge_netfilter` is set."""
        self._record.add(OwnedNamespace(self.namespace.name))
        self.namespace.create(bridge_netfilter)

    def bridge_netfilter(self) -> BridgeNetfilter | None:
        """Return whether its bridges pass frames to netfilter by now; see vtax.machine.bridge_netfilter."""
        return self.namespace.run(read_bridge_netfilter)

    def start_agent(self, name: str, cpus: str) -> None:
        """Start an agent in the namespace on the CPUs of a role (`agents`, `host`, `guests`)."""
        log = self._record.scratch / f"{name}.log"
        agent = start_agent(name, netns=self.namespace.path, cpus=self.cpus[cpus], log=log)
        self._agents[name] = agent
        self._record.add_process(agent.process.pid, name)
        agent.wait_hello(patience(HELLO_TIMEOUT_S))

    def namespaces(self) -> dict[str, int]:
        """Inode numbers of the network namespaces here: the host's own, and those of guests of this kernel, by name."""
        names = {self.name: self.namespace}
        names |= {guest: Namespace(f"{self._record.run}-{guest}") for guest in self._guests}
        return {name: space.inode for name, space in names.items() if space.path.exists()}

    @property
    def api(self) -> Callable[[str], AgentApi]:
        """What returns the methods of an agent or a guest's agent. They raise AgentError, AgentGone."""
        return lambda agent: self.agents[agent].api

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents here, those of guests included, by name."""
        return {**self._agents, **{name: guest.agent for name, guest in self._guests.items()}}

    def stop_agent(self, name: str) -> None:
        """End an agent."""
        agent = self._agents.pop(name, None)
        if agent is not None:
            agent.close()

    def open_port(
        self,
        name: str,
        kind: str,
        end: EndPlace,
        far: Sequence[Station],
        near: Sequence[Station],
        cap: Cap | None = None,
    ) -> None:
        """Make a port of `kind` at a link's end, which leads to `far`, for the guests `near`."""
        at = self._end(end)
        self._ports[name] = PORTS[kind](Site(at, name, far, near, self._surroundings))
        if cap is not None:
            cap.apply(at)

    def borrow(self, interface: str, end: EndPlace, mtu: int) -> Borrowed:
        """Make an interface of this machine a link's end, until the host is closed."""
        if (problem := problem_of(interface)) is not None:
            raise OSError(f"{interface} {problem}; name one that is there and nothing else uses")
        borrowed = borrow(interface, self.namespace, mtu, self._record, end.interface, end.mac)
        self._borrowed.append(borrowed)
        return Borrowed(borrowed.mtu, borrowed.offloads)

    def attach(self, port: str, interface: str, mac: str) -> None:
        """Join an interface of the host's own to a port, by the MAC that is behind it."""
        self._ports[port].attach(interface, mac)

    def set_end(self, end: EndPlace, act: EndAct) -> None:
        """Carry out an act at a link's end."""
        act.apply(self._end(end))

    def joint(self, port: str, guest_mac: str, nic: NicKind) -> Joint:
        """Where frames of a guest's NIC pass here."""
        here, meeting = interfaces_of(self.namespace), self._ports[port]
        own = None if nic == "wire" else here[meeting.interface_of(guest_mac)].interface(nic)
        return Joint(here[meeting.end.interface].interface("wire"), own)

    def give_ingress_context(self, interface: str, cpus: str = "host") -> None:
        """Poll a link's end by a kernel thread of its own on the CPUs of a role."""
        whose = Account.of_ingress(interface) if cpus == HOST else Account(self.name, interface)
        self._ingress_threads[whose] = thread_ingress(self.namespace, interface, self.cpus[cpus])

    def weigh(self, host_weight: int) -> None:
        """Have the host's ingress threads and services weigh so much against each guest that is started from now on."""
        ingress = [
            thread
            for whose, threads in self._ingress_threads.items()
            if whose.component == INGRESS
            for thread in threads
        ]
        services = {pid for pid, _ in self._surroundings.threads().values()}
        self._scheduling.weigh(self.name, host_weight, [*ingress, *services])

    def start_guest(
        self,
        name: str,
        kind: str,
        keys: Raw,
        nics: Sequence[PortNic],
        protocols: Sequence[str],
        cpus: list[int] | None = None,
        packages: Sequence[str] | None = None,
        interfaces: Sequence[agent_api.GuestNic] = (),
        files: Mapping[str, str] | None = None,
    ) -> Started:
        """Start a guest of a platform's kind on these NICs that speaks `protocols`; `keys` as keys_of returns them.

        It runs on `cpus`, or the guests', and will be configured with `interfaces`. Programs of `packages` are to be
        started in it, where that is not None. `files` are those of the user's own that it starts from: the SHA-256 by
        the path. Raises AgentGone with the guest's last words, PlatformUnusable, OSError, and ChangedFileError.
        """
        check_unchanged(files or {})
        chosen = config_of(kind, keys)
        plan = GuestPlan(
            name=name,
            config=chosen,
            nics=[GuestNic(nic.mac, self._ports[nic.port], nic.mtu) for nic in nics],
            host=self.namespace,
            cpus=cpus or self.cpus["guests"],
            record=self._record,
            protocols=protocols,
            pinned=self._scheduling.take_turns(chosen.pinned_vcpus),
            admission=self._scheduling.admit(name),
            interfaces=interfaces,
            packages=packages,
        )
        guest: Guest = load_kind(kind).Kind().start(plan)
        self._guests[name] = guest
        return Started(guest.hello_s, list(guest.modules))

    def guest_state(self, name: str) -> GuestState:
        """How a guest stands."""
        guest = self._guests.get(name)
        if guest is None:
            return GuestState(condition="ended")
        try:
            answer = guest.agent.api.guest_state(patience(GUEST_PATIENCE_S))
        except AgentError as error:
            return GuestState.misreported(f"an error ({one_line(error.problem)})", guest.last_words())
        except AgentBreach as breach:
            return GuestState.misreported(breach.problem, guest.last_words())
        except AgentGone:
            reason = guest.agent.death
            condition: Condition = "agent died" if reason else "ended" if guest.agent.gone else "silent"
            return GuestState(condition=condition, reason=reason, last_words=guest.last_words())
        return GuestState.told(answer, guest.last_words())

    def surroundings(self) -> Activity:
        """What else goes on here: the clock's offset, others' processes by id and start time, and quotas."""
        return {
            "at_s": time.monotonic(),
            "clock_offset_ns": clock_offset_ns(),
            "others": foreign_processes(self._guests),
            "throttled_s": withheld(self._guests),
        }

    def last_words(self, name: str) -> str:
        """The last lines of a guest's console or log."""
        guest = self._guests.get(name)
        return guest.last_words() if guest is not None else ""

    def stop_guest(self, name: str) -> None:
        """Take a guest down."""
        guest = self._guests.pop(name, None)
        if guest is not None:
            guest.stop()
        self._scheduling.release(name)

    def counters(self, cpus: list[int]) -> CpuCounters:
        """Counters of this instant: CPUs (seconds), those named and all, and threads (nanoseconds, runs).

        `apart` are guests that a hypervisor below runs: seconds that it says they ran. It then tells of the CPUs, too.
        """
        return count_time(cpus, self._threads(), self._guests)

    def owners(self) -> Owners:
        """Whose CPU time is whose here."""
        threads = self._threads()
        owned = {agent.process.pid: Account.of_agent(name) for name, agent in self._agents.items()}
        for name, guest in self._guests.items():
            pids = {guest.agent.process.pid, *(pid for pid, _ in guest.threads().values())}
            owned |= dict.fromkeys(pids, Account.of_guest(name, "other"))
        return {"threads": {tid: whose for tid, (_, whose) in threads.items()}, "processes": owned}

    def heirs(self, owned: dict[int, Account]) -> dict[int, Account]:
        """The machine's processes that are somebody's: the nearest owned ancestor's, or the controller's."""
        return heirs_of(owned)

    def _threads(self) -> dict[int, tuple[int, Account]]:
        """Threads whose account is known: thread id to process id and account."""
        threads = {pid: (pid, whose) for whose, pids in self._ingress_threads.items() for pid in pids}
        return {**threads, **self._surroundings.threads(), **threads_of(self._guests)}

    def interface_counters(self) -> dict[str, InterfaceCounters]:
        """Totals of every interface; see vtax.testbed.counters."""
        counters = interface_counters(self.namespace)
        for port in self._ports.values():
            for interface, dropped in port.dropped().items():
                counters[interface]["dropped_port"] = dropped
        return counters

    def close(self) -> None:
        """Take down guests, agents, ports and the namespace; what is gone already is passed over.

        Every one of these is tried; what first went wrong is raised after the last.
        """
        steps: list[Callable[[], None]] = [
            *(partial(self.stop_guest, name) for name in list(self._guests)),
            *(partial(self.stop_agent, name) for name in list(self._agents)),
            *(port.close for port in self._ports.values()),
            self._surroundings.close,
            self._scheduling.close,
            *(borrowed.give_back for borrowed in self._borrowed),
            self.namespace.remove,
        ]
        self._ports.clear()
        self._borrowed.clear()
        errors = [error for step in steps if (error := _attempt(step)) is not None]
        if errors:
            raise errors[0]

    def _end(self, end: EndPlace) -> LinkEnd:
        return LinkEnd(self.namespace, end.interface, end.mac)


def _attempt(step: Callable[[], None]) -> Exception | None:
    """What went wrong in a step of taking down, other than that the thing is gone already."""
    try:
        step()
    except (FileNotFoundError, ProcessLookupError):
        return None
    except Exception as error:
        is_gone = isinstance(error, NetlinkError) and error.code in GONE
        return None if is_gone else error
    return None
