"""The built-in testbed of many guests: all are behind one link, which a switch joins to a far end for each of them.

    far end 0 --\\                           /-- guest 0 --\\                           /-- sink 0
    far end 1 --- switch == uplink == port --- guest 1 --- port == downlink == switch --- sink 1
    far end 2 --/                           \\-- guest 2 --/                           \\-- sink 2

End hosts have the left half only. Every link has `link_mbps`, the switch's own ends too: where more comes than the
uplink takes, the switch's queue overflows, as in anhalt2009 (section IV).
"""

import contextlib

from msgspec import structs

from vtax.agent_api import GuestConfigureParams, Route, SourceStream, StreamInterface
from vtax.scenario.frames import FrameSpec
from vtax.testbed.addressing import StreamAddresses, source_stream
from vtax.testbed.clocks import ClockAhead
from vtax.testbed.end_acts import CompleteFrames, Shape, ShapeHost, Share, SwitchTo, TagInside
from vtax.testbed.guest import (
    GuestSpec,
    configuration,
    guest_name,
    interface,
    interface_towards_sink,
    interface_towards_source,
    nic,
)
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, End, Machines
from vtax.testbed.ports import PORTS
from vtax.testbed.settings import LocalSettings


class SharedTestbed:
    """Far ends, a switch, the UUT's host with `guests` guests, and sinks where the guests forward.

    On raw, which has one kernel and no bridge, every guest is an address of the host's own. A `busy_source` never
    sleeps and shares its CPU with nobody: far switch and sinks are in the UUT's context then, as a dedicated sink is.
    """

    def __init__(
        self,
        settings: LocalSettings,
        guests: int,
        machines: Machines,
        *,
        forwards: bool,
        busy_source: bool = False,
    ) -> None:
        self.settings = settings
        self.forwards = forwards
        self._busy_source = busy_source
        version = settings.encapsulation.ip_version
        self.streams = [StreamAddresses(number, version) for number in range(guests)]
        self.source, self.switch, self.uut, self.sink = (
            machines.host(name) for name in ("source", "switch", "uut", "sink")
        )
        self._machines = machines
        self.watcher: Agent
        """Who watches the kernel of the UUT's machine."""
        self._wire = False
        self._one_mac = False
        """Whether far ends send to all guests by the first one's MAC."""

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts."""
        return (self.source, self.switch, self.uut, *([self.sink] if self.forwards else []))

    @property
    def sources(self) -> list[Host]:
        """The source: the switch is on its machine."""
        return [self.source]

    @property
    def sinks(self) -> list[Host]:
        """The sink."""
        return [self.sink]

    @property
    def entry(self) -> Host:
        """The host that the source's links lead into."""
        return self.switch

    @property
    def guests(self) -> list[GuestSpec]:
        """The guests; the stream of the same number is theirs."""
        return [self._guest(stream) for stream in self.streams]

    def build(self, port_kind: str) -> None:
        """Make hosts, links, switches and ports, and the agents of forwarding; far ends get theirs of the workload."""
        self._wire = port_kind == "wire"
        self._one_mac = PORTS[port_kind].answers_for_guests
        for host in self.hosts:
            host.create(self.settings.bridge_netfilter)
        first = self.streams[0]
        self._lay_side("in", port_kind, first.uut_in_mac, "src", self.source)
        if self.forwards:
            self.source.start_agent("source", "agents")
            self.sink.start_agent("sink", "agents")
            self._lay_side("out", port_kind, first.uut_out_mac, "snk", self.sink)
            self.watcher = self._machines.watcher(self.uut, (self.sink, "sink"))

    def watch(self, instrument: Agent) -> None:
        """Have this agent be the watcher, where none is yet and it has the UUT's kernel."""
        if not self.forwards:
            self.watcher = self._machines.watcher(self.uut, instrument)

    def compare_clocks(self) -> dict[int, ClockAhead]:
        """How far the sink's clock is ahead of the source's by now, by stream."""
        compared = self._machines.compare_clocks([(self.source, self.sink)] * len(self.streams))
        return {stream.stream: ahead for stream, ahead in zip(self.streams, compared, strict=True)}

    def _lay_side(self, side: str, port_kind: str, wire_mac: str, far: str, far_host: Host) -> None:
        role = 0 if side == "in" else 1
        mtu, first = self.settings.mtu, self.streams[0]
        link_mbps, flow_control = self.settings.link_mbps, self.settings.flow_control
        uut = End(self.uut, side, wire_mac if self._one_mac else first.end_mac(role))
        trunk = End(self.switch, f"trunk-{side}", first.end_mac(role + 2))
        self._machines.join(trunk, uut, mtu)
        ends = [stream.at_source if side == "in" else stream.at_sink for stream in self.streams]
        guests = [stream.uut_in if side == "in" else stream.uut_out for stream in self.streams]
        behind = guests[:1] if self._one_mac else guests
        switch = f"switch-{side}"
        self.switch.open_port(switch, "bridge", trunk.place, behind, [])
        for number, station in enumerate(ends):
            end = End(far_host, f"{far}{number}", station.mac)
            member = End(self.switch, f"to-{far}{number}", self.streams[number].end_mac(role + 4))
            self._machines.join(end, member, mtu)
            end.set(CompleteFrames())
            self.switch.attach(switch, member.interface, station.mac)
            member.set(SwitchTo(trunk.interface, [guest.mac for guest in behind]))
            for sender in (end, member):
                sender.set(Shape(link_mbps, flow_control))
        for sender in (trunk, uut):
            sender.set(TagInside())
        trunk.set(Share(link_mbps, flow_control, [station.mac for station in ends], mtu))
        uut.set(ShapeHost(link_mbps, flow_control, mtu))
        self.uut.give_ingress_context(uut.interface, "host")
        if side == "in" or not self._busy_source:
            self.switch.give_ingress_context(trunk.interface, "agents")
        self.uut.open_port(f"port-{side}", port_kind, uut.place, ends, guests)

    def _towards(self, stream: StreamAddresses) -> StreamAddresses:
        """Whose MACs a stream's far ends send to."""
        return self.streams[0] if self._one_mac else stream

    def _guest(self, stream: StreamAddresses) -> GuestSpec:
        own = self.streams[0] if self._wire else stream
        nics = [nic(self.settings, own.uut_in_mac, "port-in")]
        interfaces = [interface_towards_source(self.settings, stream, own.uut_in_mac)]
        if self.forwards:
            nics.append(nic(self.settings, own.uut_out_mac, "port-out"))
            interfaces.append(interface_towards_sink(self.settings, stream, own.uut_out_mac))
        leaves_by = own.uut_out_mac if self.forwards else own.uut_in_mac
        name = guest_name(stream.stream, len(self.streams))
        return GuestSpec(name, self.uut, nics, interfaces, self.forwards, [leaves_by])

    def peer_configuration(self, stream: StreamAddresses) -> GuestConfigureParams:
        """Parameters of `guest.configure` of the agent that answers for a stream's far end."""
        own = self._towards(stream)
        end = interface(
            self.settings, stream, stream.source_mac, stream.source_ip, stream.uut_in_ip, own.uut_in_mac
        )
        routes = [Route(network=stream.sink_network, gateway=stream.uut_in_ip)] if self.forwards else []
        return configuration([structs.replace(end, routes=routes)], forward=False)

    def server_configuration(self, stream: StreamAddresses) -> GuestConfigureParams:
        """The same of the agent that answers for a stream's sink."""
        own = self._towards(stream)
        end = interface(
            self.settings, stream, stream.sink_mac, stream.sink_ip, stream.uut_out_ip, own.uut_out_mac
        )
        routes = [Route(network=stream.source_network, gateway=stream.uut_out_ip)]
        return configuration([structs.replace(end, routes=routes)], forward=False)

    def source_streams(self, count: int, frames: FrameSpec) -> list[SourceStream]:
        """The first `count` streams, of such frames, as `source.open` takes them."""
        return [
            source_stream(stream, f"src{stream.stream}", self._towards(stream).uut_in_mac, frames)
            for stream in self.streams[:count]
        ]

    def sink_streams(self) -> list[StreamInterface]:
        """All streams, as `sink.open` takes them."""
        return [
            StreamInterface(stream=stream.stream, interface=f"snk{stream.stream}") for stream in self.streams
        ]

    def ingress_interfaces(self) -> list[str]:
        """The switch's ends of the links from the source: what it sends goes no further where it is dropped there."""
        return [f"to-src{stream.stream}" for stream in self.streams]

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        with contextlib.ExitStack() as closing:
            for host in (self.sink, self.source, self.switch, self.uut):
                closing.callback(host.close)
