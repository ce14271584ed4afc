"""Declare the network of many guests: all are behind one link, which a switch joins to a far end for each of them.

    far end 0 --\\                           /-- guest 0 --\\                           /-- sink 0
    far end 1 --- switch == uplink == port --- guest 1 --- port == downlink == switch --- sink 1
    far end 2 --/                           \\-- guest 2 --/                           \\-- sink 2

End hosts have the left half only. Every link has `link_mbps`, the switch's own ends too: where more comes than the
uplink takes, the switch's queue overflows, as in anhalt2009 (section IV).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vtax.agent_api import GuestNic, Route
from vtax.testbed.addressing import Station, StreamAddresses
from vtax.testbed.end_acts import (
    CompleteFrames,
    Shape,
    ShapeHost,
    Share,
    SwitchTo,
    TagInside,
    paced_by_source,
)
from vtax.testbed.guest import PEER, SERVER, GuestSpec, guest_name, interface
from vtax.testbed.network import FarEnd, FrameStream, Link, Network, Node, NodeAgent, Part, Plug, Port
from vtax.testbed.ports import PORTS
from vtax.testbed.settings import LocalSettings


def shared(
    settings: LocalSettings, port_kind: str, guests: int, *, forwards: bool, busy_source: bool = False
) -> Network:
    """Declare far ends, a switch, the UUT's host with so many guests, and sinks where the guests forward.

    On raw, which has one kernel and no bridge, every guest is an address of the host's own. A `busy_source` never
    sleeps and shares its CPU with nobody: far switch and sinks are in the UUT's context then, as a dedicated sink is.
    """
    numbers, names = range(guests), [guest_name(number, guests) for number in range(guests)]
    streams = [StreamAddresses(number, settings.encapsulation.ip_version) for number in numbers]
    sources = _Side(
        settings,
        port_kind,
        name="in",
        far_host="source",
        far_interface="src",
        agent=PEER,
        role=0,
        far=[stream.at_source for stream in streams],
        near=[stream.uut_in for stream in streams],
    )
    hosts = (Node("source"), Node("switch"), Node("uut"))
    if not forwards:
        return Network(
            settings,
            parts=(*hosts, *sources.parts()),
            guests=tuple(GuestSpec(names[n], "uut", {"port-in": sources.nic(n)}) for n in numbers),
            ends=tuple((sources.far_end(n, watches=n == 0), names[n]) for n in numbers),
        )
    sinks = _Side(
        settings,
        port_kind,
        name="out",
        far_host="sink",
        far_interface="snk",
        agent=SERVER,
        role=1,
        far=[stream.at_sink for stream in streams],
        near=[stream.uut_out for stream in streams],
    )
    return Network(
        settings,
        parts=(
            *(*hosts, Node("sink")),
            *sources.parts(sends_frames=busy_source),
            *(NodeAgent("source", "source"), NodeAgent("sink", "sink", watches=True)),
            *sinks.parts(own_context=not busy_source),
        ),
        guests=tuple(
            GuestSpec(names[n], "uut", {"port-in": sources.nic(n), "port-out": sinks.nic(n)}, forwards=True)
            for n in numbers
        ),
        ends=tuple((sources.far_end(n, routes=True), sinks.far_end(n, routes=True)) for n in numbers),
        streams=tuple(
            FrameStream(streams[n], "source", "sink", sources.behind[n].mac, settings.link_mbps)
            for n in numbers
        ),
    )


@dataclass(frozen=True)
class _Side:
    """What is on a side of the UUT: far ends, a switch, a link, and the guests' NICs there."""

    settings: LocalSettings
    port_kind: str
    name: str
    far_host: str
    far_interface: str
    """What the far ends' interfaces are called, without their number."""
    agent: str
    """What their agents are called likewise."""
    role: int
    """That of the UUT's end of the link (StreamAddresses.end_mac)."""
    far: list[Station]
    near: list[Station]

    def parts(self, *, own_context: bool = True, sends_frames: bool = False) -> Iterator[Part]:
        """Declare links, switch and port; the switch has a context of its own, or the UUT's.

        Far ends that send frames keep to the links' rate by themselves.
        """
        settings, streams = self.settings, [StreamAddresses(number) for number in range(len(self.far))]
        rate = settings.link_mbps, settings.flow_control
        turns = Share(*rate, [station.mac for station in self.far], settings.mtu)
        trunk = Plug(
            "switch",
            f"trunk-{self.name}",
            streams[0].end_mac(self.role + 2),
            (TagInside(), turns),
            ingress="agents" if own_context else None,
        )
        uut_mac = self.near[0].mac if self._has_one_mac else streams[0].end_mac(self.role)
        uut = Plug("uut", self.name, uut_mac, (TagInside(), ShapeHost(*rate, settings.mtu)), ingress="host")
        at_far_end = paced_by_source(settings) if sends_frames else Shape(*rate)
        behind = self.near[:1] if self._has_one_mac else self.near
        switch = Port(f"switch-{self.name}", "bridge", trunk, far=behind, near=[])
        towards = SwitchTo(trunk.interface, [station.mac for station in behind])
        yield Link(trunk, uut)
        yield switch
        for stream, station in zip(streams, self.far, strict=True):
            far = f"{self.far_interface}{stream.stream}"
            mac = stream.end_mac(self.role + 4)
            yield Link(
                Plug(self.far_host, far, station.mac, (CompleteFrames(), at_far_end)),
                Plug("switch", f"to-{far}", mac, (towards, Shape(*rate)), member_of=switch.name),
            )
        yield Port(f"port-{self.name}", self.port_kind, uut, self.far, self.near)

    def nic(self, number: int) -> GuestNic:
        """Declare a guest's NIC."""
        own = self.near[number]
        if self.port_kind == "wire":
            own = replace(own, mac=self.near[0].mac)
        return interface(self.settings, own, [self.far[number]])

    @property
    def behind(self) -> list[Station]:
        """Return the guests as their far ends send to them."""
        return [replace(each, mac=self.near[0].mac) if self._has_one_mac else each for each in self.near]

    def far_end(self, number: int, *, routes: bool = False, watches: bool = False) -> FarEnd:
        """Declare a guest's far end, with a route through the guest to what is beyond it, or without."""
        guest = self.behind[number]
        through = [Route(network=network, gateway=guest.address) for network in guest.beyond]
        end = interface(self.settings, self.far[number], [guest], through if routes else ())
        name, at = f"{self.agent}{number}", f"{self.far_interface}{number}"
        return FarEnd(self.far_host, name, at, end, watches=watches)

    @property
    def _has_one_mac(self) -> bool:
        """Whether far ends send to all guests by the first one's MAC."""
        return PORTS[self.port_kind].answers_for_guests
