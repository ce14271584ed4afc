"""What a testbed wants of a guest: its NICs and how they are set up."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.agent_api import AgentApi, GuestConfigureParams, GuestNic, Neighbour, Route
from vtax.platforms import PlatformConfig
from vtax.testbed.addressing import Station, prefix_bits
from vtax.testbed.guest_state import GuestState
from vtax.testbed.host import Host, PortNic
from vtax.testbed.settings import LocalSettings

GUEST = "guest"
"""The only guest of a host; several are numbered from 0."""


PEER = "peer"
"""The far end of a guest, where that is an agent; numbered as the guest is."""

SERVER = "server"
"""The far end behind a guest that is a router, numbered likewise."""

NEIGHBOUR = "neighbour"
"""A guest beside those that are measured; numbered from 0."""


def is_neighbour(name: str) -> bool:
    """Whether a guest is one of the neighbours, by its name."""
    return name.startswith(NEIGHBOUR)


def guest_name(number: int, guests: int) -> str:
    """The name of a guest among so many."""
    return GUEST if guests == 1 else f"{GUEST}{number}"


@dataclass(frozen=True)
class GuestSpec:
    """A guest before it is started."""

    name: str
    host_name: str
    at_ports: dict[str, GuestNic]
    """Its NICs as its agent sets them up, by the port that each is at; a router's are in pairs, one in and one out."""
    forwards: bool = False
    least_memory_bytes: int = 0
    """What it needs, where its platform's guests have memory of their own."""
    cpus: list[int] | None = None
    """Where it runs; None for the guests' CPUs."""

    @property
    def nics(self) -> list[PortNic]:
        """Return its NICs as Host.start_guest takes them."""
        return [PortNic(nic.mac, port, nic.mtu) for port, nic in self.at_ports.items()]

    @property
    def interfaces(self) -> list[GuestNic]:
        """Return the same as its agent sets them up."""
        return list(self.at_ports.values())

    @property
    def egress_macs(self) -> list[str]:
        """Return the NICs that what is measured leaves it by."""
        return [nic.mac for nic in (self.interfaces[1::2] if self.forwards else self.interfaces)]

    def placed(self, host: Host) -> "PlacedGuest":
        """Return the guest on its host."""
        return PlacedGuest(**vars(self), host=host)

    def config(self, platform: PlatformConfig) -> PlatformConfig:
        """The platform's keys for this guest."""
        return platform.with_memory(self.least_memory_bytes)

    def configuration(self, modules: list[str]) -> GuestConfigureParams:
        """Return the params of `guest.configure`."""
        return configuration(self.interfaces, forward=self.forwards, modules=modules)


@dataclass(frozen=True, kw_only=True)
class PlacedGuest(GuestSpec):
    """A guest on its host."""

    host: Host

    @property
    def api(self) -> AgentApi:
        """Return the methods of its agent."""
        return self.host.api(self.name)

    def state(self) -> GuestState:
        """Return how it stands."""
        return self.host.guest_state(self.name)


def configuration(
    interfaces: Sequence[GuestNic], *, forward: bool, modules: Sequence[str] = ()
) -> GuestConfigureParams:
    """Return the params of `guest.configure` of an agent that has these interfaces."""
    return GuestConfigureParams(modules=list(modules), nics=list(interfaces), forward=forward)


def interface(
    settings: LocalSettings, own: Station, others: Sequence[Station], routes: Sequence[Route] = ()
) -> GuestNic:
    """Return a station's interface as `guest.configure` takes it; it knows the others, which are on its network."""
    return GuestNic(
        mac=own.mac,
        address=f"{own.address}/{prefix_bits(own.address)}",
        mtu=settings.mtu,
        vlan=settings.encapsulation.vlan,
        neighbours=[Neighbour(address=other.address, mac=other.mac) for other in others],
        routes=list(routes) or None,
    )
