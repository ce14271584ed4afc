"""What a testbed wants of a guest: its NICs and how they are set up."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.agent_api import AgentApi, GuestConfigureParams, GuestNic, Neighbour
from vtax.platforms import PlatformConfig
from vtax.testbed.addressing import StreamAddresses
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
    host: Host
    nics: list[PortNic]
    interfaces: list[GuestNic]
    """The same as its agent sets them up: addresses, static neighbours."""
    forwards: bool
    egress_macs: list[str]
    """The NICs that what is measured leaves the guest by."""
    least_memory_bytes: int = 0
    """What it needs, where its platform's guests have memory of their own."""
    cpus: list[int] | None = None
    """Where it runs; None for the guests' CPUs."""

    @property
    def api(self) -> AgentApi:
        """The methods of its agent."""
        return self.host.api(self.name)

    def state(self) -> GuestState:
        """How it stands."""
        return self.host.guest_state(self.name)

    def config(self, platform: PlatformConfig) -> PlatformConfig:
        """The platform's keys for this guest."""
        return platform.with_memory(self.least_memory_bytes)

    def configuration(self, modules: list[str]) -> GuestConfigureParams:
        """Return the params of `guest.configure`."""
        return configuration(self.interfaces, forward=self.forwards, modules=modules)


def configuration(
    interfaces: Sequence[GuestNic], *, forward: bool, modules: Sequence[str] = ()
) -> GuestConfigureParams:
    """Return the params of `guest.configure` of an agent that has these interfaces."""
    return GuestConfigureParams(modules=list(modules), nics=list(interfaces), forward=forward)


def nic(settings: LocalSettings, mac: str, port: str) -> PortNic:
    """A NIC as Host.start_guest takes it."""
    return PortNic(mac, port, settings.mtu)


def interface_towards_source(settings: LocalSettings, stream: StreamAddresses, mac: str) -> GuestNic:
    """The NIC that a stream's far end is behind, as `guest.configure` takes it."""
    return interface(settings, stream, mac, stream.uut_in_ip, stream.source_ip, stream.source_mac)


def interface_towards_sink(settings: LocalSettings, stream: StreamAddresses, mac: str) -> GuestNic:
    """The NIC that a stream's sink is behind."""
    return interface(settings, stream, mac, stream.uut_out_ip, stream.sink_ip, stream.sink_mac)


def interface(
    settings: LocalSettings, stream: StreamAddresses, mac: str, address: str, far_address: str, far_mac: str
) -> GuestNic:
    """An end of a stream's links, as `guest.configure` takes it."""
    return GuestNic(
        mac=mac,
        address=f"{address}/{stream.prefix_bits}",
        mtu=settings.mtu,
        vlan=settings.encapsulation.vlan,
        neighbours=[Neighbour(address=far_address, mac=far_mac)],
    )
