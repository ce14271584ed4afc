"""The built-in testbed of one guest: source, UUT and sink hosts are namespaces, each stream has its own links."""

import contextlib
from typing import Any

from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.addressing import StreamAddresses, as_source_takes_it
from vtax.testbed.guest import GUEST, GuestSpec, interface_towards_sink, interface_towards_source, nic
from vtax.testbed.host import Host
from vtax.testbed.link import LinkEnd, complete_frames, make_link, shape, tag_inside
from vtax.testbed.settings import LocalSettings


class DedicatedTestbed:
    """Three hosts and a pair of links a stream: source -> UUT -> sink, no interface shared."""

    def __init__(self, settings: LocalSettings, streams: int, record: OwnershipRecord) -> None:
        self.settings = settings
        version = settings.encapsulation.ip_version
        self.streams = [StreamAddresses(stream, version) for stream in range(streams)]
        self.source, self.uut, self.sink = (
            Host(name, record, settings.cpus) for name in ("source", "uut", "sink")
        )

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts."""
        return (self.source, self.uut, self.sink)

    @property
    def entry(self) -> Host:
        """The host that the source's links lead into."""
        return self.uut

    @property
    def guests(self) -> list[GuestSpec]:
        """The UUT's guest, with a NIC in and one out for each stream."""
        nics, interfaces = [], []
        for stream in self.streams:
            nics += [
                nic(self.settings, stream.uut_in_mac, f"port-in{stream.stream}"),
                nic(self.settings, stream.uut_out_mac, f"port-out{stream.stream}"),
            ]
            interfaces += [
                interface_towards_source(self.settings, stream, stream.uut_in_mac),
                interface_towards_sink(self.settings, stream, stream.uut_out_mac),
            ]
        leaves_by = [stream.uut_out_mac for stream in self.streams]
        return [GuestSpec(GUEST, self.uut, nics, interfaces, True, leaves_by)]

    def build(self, port_kind: str) -> None:
        """Make hosts, agents, links and ports; the UUT's ingress gets a context of its own."""
        for host in self.hosts:
            host.create()
        self.source.start_agent("source", "agents")
        self.sink.start_agent("sink", "agents")
        for stream in self.streams:
            self._lay_links(stream, port_kind)

    def _lay_links(self, stream: StreamAddresses, port_kind: str) -> None:
        number = stream.stream
        wire = port_kind == "wire"
        source = LinkEnd(self.source.namespace, f"src{number}", stream.source_mac)
        sink = LinkEnd(self.sink.namespace, f"snk{number}", stream.sink_mac)
        ends = {
            "in": LinkEnd(
                self.uut.namespace, f"in{number}", stream.uut_in_mac if wire else stream.end_mac(0)
            ),
            "out": LinkEnd(
                self.uut.namespace, f"out{number}", stream.uut_out_mac if wire else stream.end_mac(1)
            ),
        }
        make_link(source, ends["in"], self.settings.mtu)
        make_link(ends["out"], sink, self.settings.mtu)
        complete_frames(source)
        tag_inside(ends["out"])
        shape(source, self.settings.link_mbps, self.settings.flow_control)
        self.uut.give_ingress_context(ends["in"].interface)
        for side, far_mac in (("in", stream.source_mac), ("out", stream.sink_mac)):
            end = {"interface": ends[side].interface, "mac": ends[side].mac}
            self.uut.open_port(f"port-{side}{number}", port_kind, end, [far_mac])

    def source_streams(self, count: int) -> list[dict[str, Any]]:
        """The first `count` streams, as `source.open` takes them."""
        vlan = self.settings.encapsulation.vlan
        return [
            as_source_takes_it(stream, f"src{stream.stream}", stream.uut_in_mac, vlan)
            for stream in self.streams[:count]
        ]

    def sink_streams(self) -> list[dict[str, Any]]:
        """All streams, as `sink.open` takes them."""
        return [{"stream": stream.stream, "interface": f"snk{stream.stream}"} for stream in self.streams]

    def ingress_interfaces(self) -> list[str]:
        """The UUT's ends of the links from the source."""
        return [f"in{stream.stream}" for stream in self.streams]

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        with contextlib.ExitStack() as closing:
            for host in (self.sink, self.source, self.uut):
                closing.callback(host.close)
