"""Where neighbours are: guests beside those that are measured, on the same host, each with a far end of its own.

    own links        far end == port -- neighbour -- port == far end
    the guest's link    guest -- port == link == port -- the guest's far end
                    neighbour --/                 \\-- far ends

The far ends are bare, and have the agents' CPUs.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from vtax.agent_api import GuestConfigureParams, GuestNic
from vtax.scenario.encapsulation import Encapsulation
from vtax.scenario.links import MOST_GUESTS
from vtax.testbed.addressing import StreamAddresses, neighbour_streams
from vtax.testbed.guest import NEIGHBOUR, GuestSpec, configuration, interface, nic
from vtax.testbed.host import Host, PortNic
from vtax.testbed.machines import Machines
from vtax.testbed.pair import NEAR_PORT, PairTestbed
from vtax.testbed.settings import LocalSettings
from vtax.testbed.stream_links import StreamLinks

NEIGHBOURS_INGRESS = {f"ingress in{stream.stream}" for stream in neighbour_streams(MOST_GUESTS)}
"""The threads of the ingress of links of their own."""
FAR_AGENT = "instrument far"


@dataclass(frozen=True)
class Needs:
    """What neighbours need of their host: memory of each, where guests have their own, and CPUs (None: the guests')."""

    least_memory_bytes: int = 0
    cpus: list[int] | None = None

    def guest(
        self,
        number: int,
        host: Host,
        nics: list[PortNic],
        interfaces: list[GuestNic],
        forwards: bool,
    ) -> GuestSpec:
        """The neighbour of a number."""
        macs = [nic.mac for nic in nics]
        name = f"{NEIGHBOUR}{number}"
        return GuestSpec(
            name, host, nics, interfaces, forwards, macs[-1:], self.least_memory_bytes, self.cpus
        )


class NeighbourSite(Protocol):
    """A place for neighbours."""

    far: Host
    """Where their far ends are."""
    streams: list[StreamAddresses]

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Hosts that are there for the neighbours alone."""

    @property
    def guests(self) -> list[GuestSpec]:
        """The neighbours."""

    def build(self, port_kind: str) -> None:
        """Make what the testbed has not made already, once that is built."""

    def far_interface(self, stream: StreamAddresses) -> str:
        """The interface of a neighbour's far end."""

    def far_configuration(self, stream: StreamAddresses) -> GuestConfigureParams:
        """Parameters of `guest.configure` of the agent that answers for it."""

    def close(self) -> None:
        """Take down the hosts that are there for the neighbours alone."""


class OwnLinks:
    """Neighbours with a pair of links of their own each (schlosser2011, section 3.4)."""

    def __init__(
        self,
        settings: LocalSettings,
        count: int,
        host: Host,
        machines: Machines,
        needs: Needs,
        *,
        talks: bool = False,
    ) -> None:
        settings = replace(settings, encapsulation=Encapsulation())
        self.far = machines.host("far", far=True)
        self.streams = neighbour_streams(count)
        self._needs, self._host, self._settings = needs, host, settings
        self.links = [
            StreamLinks(machines, settings, stream, self.far, host, self.far, talks)
            for stream in self.streams
        ]

    @property
    def hosts(self) -> tuple[Host, ...]:
        """That of the far ends."""
        return (self.far,)

    @property
    def guests(self) -> list[GuestSpec]:
        """Each with a NIC in and one out."""
        return [
            self._needs.guest(number, self._host, links.nics, links.interfaces, True)
            for number, links in enumerate(self.links)
        ]

    def build(self, port_kind: str) -> None:
        """Make the far ends' host and all links."""
        self.far.create(self._settings.bridge_netfilter)
        for links in self.links:
            links.lay(port_kind)

    def far_interface(self, stream: StreamAddresses) -> str:
        """Where its source is."""
        return f"src{stream.stream}"

    def far_configuration(self, stream: StreamAddresses) -> GuestConfigureParams:
        """It knows the neighbour's NIC."""
        near = (
            self._settings,
            stream,
            stream.source_mac,
            stream.source_ip,
            stream.uut_in_ip,
            stream.uut_in_mac,
        )
        return configuration([interface(*near)], forward=False)

    def close(self) -> None:
        """Take the far ends' host down."""
        self.far.close()


class OnGuestsLink:
    """Neighbours behind the guest's own port and link (oljira2016, III.D); the testbed lays the way."""

    hosts: tuple[Host, ...] = ()

    def __init__(self, pair: PairTestbed, needs: Needs) -> None:
        self.far, self.streams = pair.source, pair.beside
        self._pair, self._needs = pair, needs

    @property
    def guests(self) -> list[GuestSpec]:
        """Each with one NIC. On raw, which has no port, with an address of the host's."""
        pair = self._pair
        return [
            self._needs.guest(
                number,
                pair.uut,
                [nic(pair.settings, pair.beside_mac(stream), NEAR_PORT)],
                [pair.beside_interface(stream)],
                False,
            )
            for number, stream in enumerate(self.streams)
        ]

    def build(self, port_kind: str) -> None:
        """All is made."""

    def far_interface(self, stream: StreamAddresses) -> str:
        """One for all far ends."""
        return self._pair.beside_end.interface

    def far_configuration(self, stream: StreamAddresses) -> GuestConfigureParams:
        """It knows the neighbour's NIC."""
        far = self._pair.beside_far_interface(stream)
        return configuration([far], forward=self._pair.far_routes)

    def close(self) -> None:
        """The testbed takes its hosts down."""
