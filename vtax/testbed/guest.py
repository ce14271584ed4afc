"""What a testbed wants of a guest: its NICs and how they are set up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from vtax.agent_api import AgentApi, GuestConfigureParams, GuestNic
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest_state import GuestState
from vtax.testbed.host import Host
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
    nics: list[dict[str, Any]]
    """As Host.start_guest takes them."""
    interfaces: list[dict[str, Any]]
    """The same as `guest.configure` takes them: addresses, static neighbours."""
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
        return GuestState.model_validate(self.host.guest_state(self.name))

    def config(self, platform: dict[str, Any]) -> dict[str, Any]:
        """The platform's keys for this guest."""
        memory_bytes = platform.get("memory_bytes")
        if memory_bytes is None:
            return platform
        return {**platform, "memory_bytes": max(memory_bytes, self.least_memory_bytes)}

    def configuration(self, modules: list[str]) -> GuestConfigureParams:
        """Return the params of `guest.configure`."""
        return configuration(self.interfaces, forward=self.forwards, modules=modules)


def configuration(
    interfaces: Sequence[dict[str, Any]], *, forward: bool, modules: Sequence[str] = ()
) -> GuestConfigureParams:
    """Return the params of `guest.configure` of an agent that has these interfaces."""
    nics = msgspec.convert(interfaces, type=list[GuestNic])
    return GuestConfigureParams(modules=list(modules), nics=nics, forward=forward)


def nic(settings: LocalSettings, mac: str, port: str) -> dict[str, Any]:
    """A NIC as Host.start_guest takes it."""
    return {"mac": mac, "port": port, "mtu": settings.mtu}


def interface_towards_source(settings: LocalSettings, stream: StreamAddresses, mac: str) -> dict[str, Any]:
    """The NIC that a stream's far end is behind, as `guest.configure` takes it."""
    return interface(settings, stream, mac, stream.uut_in_ip, stream.source_ip, stream.source_mac)


def interface_towards_sink(settings: LocalSettings, stream: StreamAddresses, mac: str) -> dict[str, Any]:
    """The NIC that a stream's sink is behind."""
    return interface(settings, stream, mac, stream.uut_out_ip, stream.sink_ip, stream.sink_mac)


def interface(
    settings: LocalSettings, stream: StreamAddresses, mac: str, address: str, far_address: str, far_mac: str
) -> dict[str, Any]:
    """An end of a stream's links, as `guest.configure` takes it."""
    return {
        "mac": mac,
        "address": f"{address}/{stream.prefix_bits}",
        "mtu": settings.mtu,
        "vlan": settings.encapsulation.vlan,
        "neighbours": [{"address": far_address, "mac": far_mac}],
    }
