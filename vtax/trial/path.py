"""A built testbed with guests in it, ready to be measured again and again: what all kinds of workload share."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.agent_api import GuestSetEgressQdiscParams
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.bridge_netfilter import BridgeNetfilter
from vtax.platforms import PlatformConfig, Preset, keys_of
from vtax.stages.hooks import NicKind
from vtax.testbed.counters import InterfaceCounters
from vtax.testbed.cpu_time import Activity, Owners
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.guest_state import GuestState
from vtax.testbed.host import Host
from vtax.testbed.testbed import Testbed
from vtax.trial.beside import Neighbours
from vtax.trial.canary import Canary
from vtax.trial.cpu_meter import CpuMeter


class PathFailed(Exception):  # noqa: N818 - it states what the path did
    """The path could not be made ready: what happened, with the guests' last words."""


@dataclass(frozen=True)
class PathFacts:
    """What bringing a path up showed."""

    hello_s: float
    """Of the guest that took longest."""
    ready_s: float
    notes: tuple[str, ...]
    """What is not as one might expect, a sentence each."""


class Path:
    """Built by `open`, measured by trials, taken down by `close`; `open` again after a guest has died."""

    packages: Sequence[str] | None = None
    """As of GuestPlan."""

    def __init__(
        self,
        preset: Preset,
        config: PlatformConfig,
        testbed: Testbed,
        protocols: Sequence[str],
        samples_hz: int,
        neighbours: Neighbours | None = None,
    ) -> None:
        self.preset = preset
        self._config = config
        self.testbed = testbed
        self._protocols = list(protocols)
        self.cpu_meter = CpuMeter(samples_hz)
        self.canary = Canary()
        self.neighbours = neighbours or Neighbours()
        self.facts: PathFacts | None = None
        """What opening it showed; None while it is down."""

    def open(self) -> PathFacts:
        """Build everything and wait until it is ready; raises PathFailed, PlatformUnusable, OSError."""
        self.testbed.build()
        self.neighbours.build()
        begun = self.testbed.uut.counters([])["at_s"]
        try:
            hello_s = self.start_guests()
            self.make_ready()
            self.neighbours.ready()
            self.set_egress()
            ready_s = self.testbed.uut.counters([])["at_s"] - begun
            self.canary.open(self.testbed.aboard())
        except (AgentGone, AgentError) as error:
            raise PathFailed(f"{error}\n{self.last_words()}".strip()) from None
        self.facts = PathFacts(hello_s, ready_s, (*self.scheduling_notes, *self.notes()))
        return self.facts

    def make_ready(self) -> None:
        """Start what else is measured with, and wait until the guests are reached; raises PathFailed.

        Also AgentGone, AgentError.
        """
        raise NotImplementedError

    def notes(self) -> Sequence[str]:
        """Return what is not as one might expect of what it is measured with, a sentence each."""
        return [f"{what}: {why}" for what, why in self.refusals().items() if why is not None]

    def refusals(self) -> dict[str, str | None]:
        """Return why the CPUs are not watched, by what comes of it; None where they are."""
        return {
            "CPU time is counted, not sampled": self.cpu_meter.refused,
            **{
                f"the speed of CPUs of {name} is not recorded": why
                for name, why in self.canary.refused.items()
            },
        }

    def close(self) -> None:
        """Take everything down."""
        self.facts = None
        try:
            self.testbed.close()
        finally:
            self.neighbours.take_down()

    @property
    def nic(self) -> NicKind:
        """What a guest's NIC is on the host."""
        return self._config.nic or self.preset.platform().nic

    @property
    def guests(self) -> list[PlacedGuest]:
        """The guests that are measured, and their neighbours."""
        return [*self.testbed.guests, *self.neighbours.guests]

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts."""
        return (*self.testbed.hosts, *self.neighbours.hosts)

    @property
    def beside_uut(self) -> list[Host]:
        """The hosts on the UUT's machine: those whose processes and namespaces its kernel can tell of."""
        return [host for host in self.hosts if host.is_beside(self.testbed.uut)]

    def start_guests(self) -> float:
        """Start and configure every guest; returns the longest time to a hello, in seconds."""
        if (host_weight := self._config.weight_of_host) is not None:
            self.testbed.uut.weigh(host_weight)
        hellos = []
        for guest in self.guests:
            started = guest.host.start_guest(
                guest.name,
                self.preset.kind,
                keys_of(guest.config(self._config)),
                guest.nics,
                self._protocols,
                guest.cpus,
                self.packages,
                guest.interfaces,
                self._config.sha256,
            )
            hellos.append(started.hello_s)
            guest.api.guest_configure(guest.configuration(started.modules), timeout_s=30.0)
        return float(max(hellos))

    def set_egress(self) -> None:
        """Have guests send through the queueing discipline that was asked for; readiness is found without it."""
        if (qdisc := self._config.egress) is not None:
            for guest in self.testbed.guests:
                params = GuestSetEgressQdiscParams(macs=guest.egress_macs, qdisc=qdisc)
                guest.api.guest_set_egress_qdisc(params)

    def guest_states(self) -> dict[str, GuestState]:
        """How the guests stand, by name."""
        return {guest.name: guest.state() for guest in self.guests}

    def surroundings(self) -> Activity:
        """What else goes on on the UUT's host; see Host.surroundings."""
        return self.testbed.uut.surroundings()

    def bridge_netfilter(self) -> dict[str, BridgeNetfilter | None]:
        """Return whether bridges pass frames to netfilter by now, by host, up to the first that does not answer."""
        found: dict[str, BridgeNetfilter | None] = {}
        with contextlib.suppress(AgentError, AgentGone, OSError):
            for host in self.hosts:
                found[host.name] = host.bridge_netfilter()
        return found

    def owners(self) -> Owners:
        """Whose the threads and processes of the UUT's machine are; see Host.owners, Host.heirs."""
        owners: Owners = {"threads": {}, "processes": {}}
        for host in self.beside_uut:
            own = host.owners()
            owners["threads"] |= own["threads"]
            owners["processes"] |= own["processes"]
        owners["processes"] = self.testbed.uut.heirs(owners["processes"])
        return owners

    @property
    def scheduling_notes(self) -> tuple[str, ...]:
        """What comes to nothing here of weights and pins that were asked for."""
        cpus = self.testbed.settings.cpus
        notes = []
        if self._config.weight_of_host not in (None, 1) and not {*cpus["host"]} & {*cpus["guests"]}:
            notes.append("host_weight weighs nothing: host and guests have CPUs of their own")
        if self._config.pinned_vcpus and len(cpus["guests"]) == 1:
            notes.append("pinned changes nothing: all guests have one CPU anyway")
        if any(guest.cpus is not None and {*guest.cpus} == {*cpus["guests"]} for guest in self.guests):
            notes.append("unbound neighbours are bound: host and guests have the same CPUs")
        return tuple(notes)

    @property
    def egress_words(self) -> str | None:
        """The queueing discipline that guests were asked to send through; None for their kernels' own."""
        return self._config.egress_words

    @property
    def uut_cpus(self) -> list[int]:
        """The CPUs of host and guests."""
        return self.testbed.settings.uut_cpus

    def last_words(self) -> str:
        """The last lines of the guests' consoles."""
        words = (guest.host.last_words(guest.name) for guest in self.guests)
        return "\n".join(said for said in words if said)

    def interface_counters(self) -> dict[str, InterfaceCounters]:
        """Totals of all interfaces, by host/name; see Host.interface_counters."""
        return {
            f"{host.name}/{interface}": counters
            for host in self.hosts
            for interface, counters in host.interface_counters().items()
        }
