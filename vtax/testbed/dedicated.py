"""The built-in testbed of one guest: source, UUT and sink hosts are namespaces, each stream has its own links."""

import contextlib
from typing import Any

from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import GUEST, GuestSpec
from vtax.testbed.host import Host
from vtax.testbed.settings import LocalSettings
from vtax.testbed.stream_links import StreamLinks


class DedicatedTestbed:
    """Three hosts and a pair of links a stream: source -> UUT -> sink, no interface shared."""

    def __init__(self, settings: LocalSettings, streams: int, record: OwnershipRecord) -> None:
        self.settings = settings
        version = settings.encapsulation.ip_version
        self.streams = [StreamAddresses(stream, version) for stream in range(streams)]
        self.source, self.uut, self.sink = (
            Host(name, record, settings.cpus) for name in ("source", "uut", "sink")
        )
        self._links = [
            StreamLinks(settings, stream, self.source, self.uut, self.sink) for stream in self.streams
        ]

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
        nics = [nic for links in self._links for nic in links.nics]
        interfaces = [interface for links in self._links for interface in links.interfaces]
        leaves_by = [stream.uut_out_mac for stream in self.streams]
        return [GuestSpec(GUEST, self.uut, nics, interfaces, True, leaves_by)]

    def build(self, port_kind: str) -> None:
        """Make hosts, agents, links and ports; the UUT's ingress gets a context of its own."""
        for host in self.hosts:
            host.create()
        self.source.start_agent("source", "agents")
        self.sink.start_agent("sink", "agents")
        for links in self._links:
            links.lay(port_kind)

    def source_streams(self, count: int) -> list[dict[str, Any]]:
        """The first `count` streams, as `source.open` takes them."""
        return [links.at_source for links in self._links[:count]]

    def sink_streams(self) -> list[dict[str, Any]]:
        """All streams, as `sink.open` takes them."""
        return [links.at_sink for links in self._links]

    def ingress_interfaces(self) -> list[str]:
        """The UUT's ends of the links from the source."""
        return [links.entry for links in self._links]

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        with contextlib.ExitStack() as closing:
            for host in (self.sink, self.source, self.uut):
                closing.callback(host.close)
