"""The built-in testbed of two ends that talk to each other, on two hosts with a link between them or on one.

    guest-to-peer    guest -- port == link == peer
    inter-host       guest -- port == link == port -- guest
    intra-host       guest -- port -- guest, the link leads to nobody

A guest of raw is its host itself. The far host has the CPUs of the agents, as another machine has its own.
"""

import contextlib
from dataclasses import replace
from typing import Literal

from vtax.agent_api import GuestConfigureParams, GuestNic
from vtax.testbed.addressing import Station, StreamAddresses, neighbour_streams
from vtax.testbed.end_acts import CompleteFrames, SetAddress, ShapeHost
from vtax.testbed.guest import GuestSpec, configuration, guest_name, interface, interface_towards_source, nic
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, End, Machines
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


class PairTestbed:
    """The UUT's host with a guest, and its far end: a bare peer, or a second guest.

    A shaped link lets `burst_frames` pass at once; without, as many as those of streams do (link.shape). So many
    `neighbours` have their NICs behind the near port, and addresses for their far ends beyond the link.
    """

    def __init__(
        self,
        settings: LocalSettings,
        placement: Placement,
        machines: Machines,
        burst_frames: int | None = None,
        neighbours: int = 0,
    ) -> None:
        self.settings = settings
        self.placement = placement
        self._burst_frames = burst_frames
        self.streams = [StreamAddresses(0, settings.encapsulation.ip_version)]
        self.beside = neighbour_streams(neighbours)
        """The addresses of neighbours on the same link."""
        self.beside_end: End
        """What their far ends have in common: the link's far end, or the port there."""
        self._wire = False
        self._one_mac = False
        """Whether far ends send to all on the near host by the guest's MAC."""
        self.far_routes = False
        """Whether the far host's kernel has to forward, for a guest of its own."""
        self._machines = machines
        self.uut = machines.host("uut")
        self.source = machines.host("source", far=True)
        self.watcher: Agent
        """Who watches the kernel of the UUT's machine."""

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Both hosts."""
        return (self.source, self.uut)

    @property
    def guests(self) -> list[GuestSpec]:
        """The guest that answers, and the one that asks, where that is none of the peer's."""
        (stream,) = self.streams
        count = 1 if self.placement == "guest-to-peer" else 2
        answers = GuestSpec(
            guest_name(0, count),
            self.uut,
            [nic(self.settings, stream.uut_in_mac, NEAR_PORT)],
            [interface_towards_source(self.settings, stream, stream.uut_in_mac)],
            False,
            [stream.uut_in_mac],
        )
        if count == 1:
            return [answers]
        inside = self.placement == "intra-host"
        asks = GuestSpec(
            guest_name(1, count),
            self.uut if inside else self.source,
            [nic(self.settings, stream.source_mac, NEAR_PORT if inside else FAR_PORT)],
            [self._far_interface(stream)],
            False,
            [stream.source_mac],
        )
        return [answers, asks]

    def build(self, port_kind: str) -> None:
        """Make hosts, link and ports; both ends of the link get an ingress of their own."""
        (stream,) = self.streams
        wire, inter, kind = port_kind == "wire", self.placement == "inter-host", PORTS[port_kind]
        self._wire, self._one_mac = wire, kind.answers_for_guests
        self.far_routes = inter and kind.answers_for_guests and not wire
        for host in self.hosts:
            host.create(self.settings.bridge_netfilter)
        self.source.start_agent(METER, "agents")
        self.watcher = self._machines.watcher(self.uut, (self.source, METER))
        bare = kind.answers_for_guests or self.placement == "guest-to-peer"
        near_mac = stream.uut_in_mac if kind.answers_for_guests else stream.end_mac(0)
        near = End(self.uut, "in0", near_mac)
        far = End(self.source, "src0", stream.source_mac if bare else stream.end_mac(2))
        settings = self.settings
        self._machines.join(far, near, settings.mtu)
        for end in (near, far):
            end.set(
                ShapeHost(
                    link_mbps=settings.link_mbps,
                    flow_control=settings.flow_control,
                    mtu=settings.mtu,
                    burst_frames=self._burst_frames,
                )
            )
            if not kind.offloads:
                end.set(CompleteFrames())
        self.uut.give_ingress_context(near.interface, "host")
        self.source.give_ingress_context(far.interface, "agents")
        if inter and kind.own_interface:
            self.beside_end = End(self.source, FAR_PORT, stream.end_mac(3))
        else:
            self.beside_end = far
        cap = settings.cap(self._near_senders, self._burst_frames)
        self.uut.open_port(NEAR_PORT, port_kind, near.place, self._beyond_link, self._near, cap)
        if inter:
            across = [replace(each.uut_in, mac=self.near_mac(each)) for each in (stream, *self.beside)]
            cap = None if wire else settings.cap([f"ether src {stream.source_mac}"], self._burst_frames)
            self.source.open_port(FAR_PORT, port_kind, far.place, across, [self._asks], cap)
            if kind.own_interface:
                self.beside_end.set(SetAddress())

    @property
    def _asks(self) -> Station:
        """The stream's end that asks, wherever it is."""
        (stream,) = self.streams
        return replace(stream.at_source, towards=stream.uut_in_mac)

    @property
    def _beyond_link(self) -> list[Station]:
        """Whom the near host reaches by the link."""
        asks = [] if self.placement == "intra-host" else [self._asks]
        return [*asks, *(Station(self.beside_end.mac, stream.source_ip) for stream in self.beside)]

    @property
    def _near(self) -> list[Station]:
        """The guests of the near host."""
        asks = [self._asks] if self.placement == "intra-host" else []
        beside = [replace(stream.uut_in, towards=self.beside_end.mac) for stream in self.beside]
        return [*(stream.uut_in for stream in self.streams), *beside, *asks]

    @property
    def _near_senders(self) -> list[str]:
        """Who sends from the near host, in tc's words: where one NIC sends for all, by their addresses."""
        streams = [*self.streams, *self.beside]
        if self._one_mac:
            return [f"ip src {stream.uut_in_ip}/32" for stream in streams]
        return [f"ether src {stream.uut_in_mac}" for stream in streams]

    def near_mac(self, stream: StreamAddresses) -> str:
        """Where its far end sends to for a stream's near address: raw and routers have one NIC for all."""
        return self.streams[0].uut_in_mac if self._one_mac else stream.uut_in_mac

    def beside_mac(self, stream: StreamAddresses) -> str:
        """The NIC that has a neighbour's address; raw has one for all."""
        return self.streams[0].uut_in_mac if self._wire else stream.uut_in_mac

    def beside_interface(self, stream: StreamAddresses) -> GuestNic:
        """A neighbour's NIC as `guest.configure` takes it."""
        mac, far_mac = self.beside_mac(stream), self.beside_end.mac
        return interface(self.settings, stream, mac, stream.uut_in_ip, stream.source_ip, far_mac)

    def beside_far_interface(self, stream: StreamAddresses) -> GuestNic:
        """The same of its far end, beyond the link."""
        mac, near_mac = self.beside_end.mac, self.near_mac(stream)
        return interface(self.settings, stream, mac, stream.source_ip, stream.uut_in_ip, near_mac)

    def peer_configuration(self, stream: StreamAddresses) -> GuestConfigureParams:
        """Parameters of `guest.configure` of a bare peer's agent."""
        return configuration([self._far_interface(stream)], forward=False)

    def _far_interface(self, stream: StreamAddresses) -> GuestNic:
        return interface(
            self.settings,
            stream,
            stream.source_mac,
            stream.source_ip,
            stream.uut_in_ip,
            stream.uut_in_mac,
        )

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        with contextlib.ExitStack() as closing:
            for host in (self.source, self.uut):
                closing.callback(host.close)
