"""Declare the network of two ends that talk to each other, on two hosts with a link between them or on one.

    guest-to-peer    guest -- port == link == peer
    inter-host       guest -- port == link == port -- guest
    intra-host       guest -- port -- guest, the link leads to nobody

A guest of raw is its host itself. The far host has the CPUs of the agents, as another machine has its own. Neighbours
are behind the guest's own port, and their far ends beyond the link (oljira2016, III.D).
"""

from dataclasses import dataclass, replace
from typing import Literal

from vtax.testbed.addressing import Station, StreamAddresses, neighbour_streams
from vtax.testbed.end_acts import CompleteFrames, ShapeHost
from vtax.testbed.guest import PEER, GuestSpec, guest_name, interface
from vtax.testbed.neighbours import FAR_AGENT, neighbour
from vtax.testbed.network import FarEnd, Link, Network, Node, NodeAgent, Plug, Port
from vtax.testbed.ports import PORTS
from vtax.testbed.settings import LocalSettings

Placement = Literal["guest-to-peer", "inter-host", "intra-host"]
NEAR_PORT, FAR_PORT = "port-in", "port-src"
BURST_FRAMES = 4
"""What a shaped link lets pass at once where single messages are timed: few, so that one of many takes its time on it.

Still fewer lose the link's rate to late timers: at 1000 Mbit/s 64 KiB there and back took 1.5 ms with two, and 1.12
with four. A wire takes 1.11.
"""
METER = "source"
"""The agent of the far host that samples the machine's CPUs: a guest may have a kernel of its own."""


def pair(
    settings: LocalSettings,
    port_kind: str,
    placement: Placement,
    burst_frames: int | None = None,
    neighbours: int = 0,
) -> Network:
    """Declare the UUT's host with a guest, and its far end: a bare peer, or a second guest.

    A shaped link lets `burst_frames` pass at once; without, as many as those of streams do (link.shape).
    """
    kind, bare_peer = PORTS[port_kind], placement == "guest-to-peer"
    inside, across = placement == "intra-host", placement == "inter-host"
    stream = StreamAddresses(0, settings.encapsulation.ip_version)
    whole = () if kind.offloads else (CompleteFrames(),)
    acts = (ShapeHost(settings.link_mbps, settings.flow_control, settings.mtu, burst_frames), *whole)
    near_mac = stream.uut_in_mac if kind.answers_for_guests else stream.end_mac(0)
    far_mac = stream.source_mac if kind.answers_for_guests or bare_peer else stream.end_mac(2)
    near = Plug("uut", "in0", near_mac, acts, ingress="host")
    far = Plug("source", "src0", far_mac, acts, ingress="agents")
    own = Plug("source", FAR_PORT, stream.end_mac(3)) if across and kind.own_interface else None
    beside = _Beside(settings, port_kind, stream, neighbour_streams(neighbours), own or far)

    asks = [replace(stream.at_source, towards=stream.uut_in_mac)]
    near_port = Port(
        NEAR_PORT,
        port_kind,
        near,
        far=[*([] if inside else asks), *beside.far_stations],
        near=[stream.uut_in, *beside.stations, *(asks if inside else [])],
        cap=settings.cap(beside.senders, burst_frames),
    )
    far_cap = None if port_kind == "wire" else settings.cap([f"ether src {stream.source_mac}"], burst_frames)
    far_port = Port(FAR_PORT, port_kind, far, beside.stations_across, asks, far_cap, own)

    to_source = interface(settings, stream.uut_in, [stream.at_source])
    to_uut = interface(settings, stream.at_source, [stream.uut_in])
    answers = GuestSpec(guest_name(0, 1 if bare_peer else 2), "uut", {NEAR_PORT: to_source})
    guests, peer = [answers], FarEnd("source", f"{PEER}0", far.interface, to_uut)
    if not bare_peer:
        host, port = ("uut", NEAR_PORT) if inside else ("source", FAR_PORT)
        guests.append(GuestSpec(guest_name(1, 2), host, {port: to_uut}))
    return Network(
        settings,
        parts=(
            *(Node("source", far=True), Node("uut")),
            NodeAgent("source", METER, watches=True),
            *(Link(far, near), near_port),
            *([far_port] if across else []),
        ),
        guests=tuple(guests),
        ends=((peer if bare_peer else guests[1].name, answers.name),),
        beside=beside.network(far_host_routes=across and kind.answers_for_guests) if neighbours else None,
    )


@dataclass(frozen=True)
class _Beside:
    """Neighbours of the guest, behind the same port."""

    settings: LocalSettings
    port_kind: str
    guest: StreamAddresses
    streams: list[StreamAddresses]
    far_end: Plug
    """What all their far ends have in common: the link's far end, or the port there."""

    @property
    def stations(self) -> list[Station]:
        """Return them as the port leads to them."""
        return [replace(stream.uut_in, towards=self.far_end.mac) for stream in self.streams]

    @property
    def stations_across(self) -> list[Station]:
        """Return all on the near host, the guest too, as the far port leads to them."""
        return [replace(each.uut_in, mac=self._near_mac(each)) for each in (self.guest, *self.streams)]

    @property
    def far_stations(self) -> list[Station]:
        """Return their far ends as the link leads to them."""
        return [Station(self.far_end.mac, stream.source_ip) for stream in self.streams]

    @property
    def senders(self) -> list[str]:
        """Return who sends from the near host, in tc's words: where one NIC sends for all, by their addresses."""
        streams = [self.guest, *self.streams]
        if self._has_one_mac:
            return [f"ip src {stream.uut_in_ip}/32" for stream in streams]
        return [f"ether src {stream.uut_in_mac}" for stream in streams]

    def network(self, *, far_host_routes: bool) -> Network:
        """Declare the neighbours. Raw has one NIC for all, and no guest beyond the link that a host routes for."""
        is_wire, far = self.port_kind == "wire", self.far_end
        guests, ends = [], []
        for number, (stream, across) in enumerate(zip(self.streams, self.stations_across[1:], strict=True)):
            own = across if is_wire else stream.uut_in
            beyond = Station(far.mac, stream.source_ip)
            guests.append(neighbour(number, {NEAR_PORT: interface(self.settings, own, [beyond])}))
            end, routes = interface(self.settings, beyond, [across]), far_host_routes and not is_wire
            ends.append(FarEnd(far.host, f"{FAR_AGENT} {number}", far.interface, end, routes))
        pairs = ((end, guest.name) for end, guest in zip(ends, guests, strict=True))
        return Network(self.settings, (), tuple(guests), tuple(pairs))

    @property
    def _has_one_mac(self) -> bool:
        """Whether far ends send to all on the near host by the guest's MAC, as raw and routers have one NIC for all."""
        return PORTS[self.port_kind].answers_for_guests

    def _near_mac(self, stream: StreamAddresses) -> str:
        return self.guest.uut_in_mac if self._has_one_mac else stream.uut_in_mac
