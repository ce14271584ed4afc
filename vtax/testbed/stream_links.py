"""A stream's own pair of links: source -> a host, through a guest of it -> sink, no interface shared."""

from dataclasses import dataclass

from vtax.agent_api import GuestNic, SourceStream, StreamInterface
from vtax.scenario.frames import FrameSpec
from vtax.testbed.addressing import StreamAddresses, source_stream
from vtax.testbed.end_acts import CompleteFrames, Shape, ShapeHost, TagInside
from vtax.testbed.guest import interface_towards_sink, interface_towards_source, nic
from vtax.testbed.host import Host, PortNic
from vtax.testbed.machines import End, Machines
from vtax.testbed.ports import PORTS
from vtax.testbed.settings import LocalSettings


@dataclass(frozen=True)
class StreamLinks:
    """The links of one stream; interfaces and ports have its number in their names."""

    machines: Machines
    settings: LocalSettings
    stream: StreamAddresses
    source: Host
    through: Host
    sink: Host
    talks: bool = False
    """Whether source and guest talk to each other, as hosts do, instead of frames passing through."""

    @property
    def nics(self) -> list[PortNic]:
        """The guest's NICs, one in and one out, as Host.start_guest takes them."""
        number = self.stream.stream
        return [
            nic(self.settings, self.stream.uut_in_mac, f"port-in{number}"),
            nic(self.settings, self.stream.uut_out_mac, f"port-out{number}"),
        ]

    @property
    def interfaces(self) -> list[GuestNic]:
        """The same as `guest.configure` takes them."""
        return [
            interface_towards_source(self.settings, self.stream, self.stream.uut_in_mac),
            interface_towards_sink(self.settings, self.stream, self.stream.uut_out_mac),
        ]

    def at_source(self, frames: FrameSpec) -> SourceStream:
        """The stream as `source.open` takes it."""
        stream = self.stream
        return source_stream(stream, f"src{stream.stream}", stream.uut_in_mac, frames)

    @property
    def at_sink(self) -> StreamInterface:
        """The stream as `sink.open` takes it."""
        return StreamInterface(stream=self.stream.stream, interface=f"snk{self.stream.stream}")

    @property
    def entry(self) -> str:
        """The interface that frames enter the host by."""
        return f"in{self.stream.stream}"

    def lay(self, port_kind: str) -> None:
        """Make links and ports; what enters the host gets a context of its own."""
        stream, number, kind = self.stream, self.stream.stream, PORTS[port_kind]
        macs = (stream.uut_in_mac, stream.uut_out_mac)
        if not kind.answers_for_guests:
            macs = (stream.end_mac(0), stream.end_mac(1))
        source = End(self.source, f"src{number}", stream.source_mac)
        sink = End(self.sink, f"snk{number}", stream.sink_mac)
        into = End(self.through, self.entry, macs[0])
        out = End(self.through, f"out{number}", macs[1])
        self.machines.join(source, into, self.settings.mtu)
        self.machines.join(out, sink, self.settings.mtu)
        self._shape(source, into)
        if not kind.offloads:
            source.set(CompleteFrames())
        out.set(TagInside())
        self.through.give_ingress_context(into.interface)
        sides = (
            ("in", into, stream.at_source, stream.uut_in),
            ("out", out, stream.at_sink, stream.uut_out),
        )
        for side, end, far, near in sides:
            cap = self.settings.cap([f"ether dst {far.mac}"])
            name = f"port-{side}{number}"
            self.through.open_port(name, port_kind, end.place, [far], [near], cap)

    def _shape(self, source: End, into: End) -> None:
        link_mbps, flow_control, mtu = self.settings.link_mbps, self.settings.flow_control, self.settings.mtu
        if not self.talks:
            source.set(CompleteFrames())
            source.set(Shape(link_mbps, flow_control))
            return
        for end in (source, into):
            end.set(ShapeHost(link_mbps, flow_control, mtu))
