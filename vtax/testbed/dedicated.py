"""The testbed of one guest: each stream has its own links, from a source through the UUT to a sink."""

import contextlib

from vtax.agent_api import SourceStream, StreamInterface
from vtax.scenario.frames import FrameSpec
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.clocks import ClockAhead
from vtax.testbed.guest import GUEST, GuestSpec
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, Machines, turn_of
from vtax.testbed.settings import LocalSettings
from vtax.testbed.stream_links import StreamLinks


class DedicatedTestbed:
    """A pair of links a stream: source -> UUT -> sink, no interface shared. Streams take turns at sources and sinks.

    Of these it has no more than streams.
    """

    def __init__(self, settings: LocalSettings, streams: int, machines: Machines) -> None:
        self.settings = settings
        version = settings.encapsulation.ip_version
        self.streams = [StreamAddresses(stream, version) for stream in range(streams)]
        self.uut = machines.host("uut")
        self.sources, self.sinks = (
            [machines.host(name) for name in machines.roles[role][:streams]] for role in ("source", "sink")
        )
        self._machines = machines
        self._links = [
            StreamLinks(machines, settings, stream, *self._ends(stream)) for stream in self.streams
        ]
        self.watcher: Agent
        """Who watches the kernel of the UUT's machine."""

    def _ends(self, stream: StreamAddresses) -> tuple[Host, Host, Host]:
        """The hosts that a stream passes."""
        return turn_of(stream.stream, self.sources), self.uut, turn_of(stream.stream, self.sinks)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts."""
        return (*self.sources, self.uut, *self.sinks)

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
            host.create(self.settings.bridge_netfilter)
        for role, hosts in (("source", self.sources), ("sink", self.sinks)):
            for host in hosts:
                host.start_agent(role, "agents")
        self.watcher = self._machines.watcher(self.uut, (self.sinks[0], "sink"))
        for links in self._links:
            links.lay(port_kind)

    def compare_clocks(self) -> dict[int, ClockAhead]:
        """How far the clock of a stream's sink is ahead of its source's by now, by stream."""
        compared = self._machines.compare_clocks(
            [(source, sink) for source, _, sink in map(self._ends, self.streams)]
        )
        return {stream.stream: ahead for stream, ahead in zip(self.streams, compared, strict=True)}

    def source_streams(self, count: int, frames: FrameSpec) -> list[SourceStream]:
        """The first `count` streams, of such frames, as `source.open` takes them."""
        return [links.at_source(frames) for links in self._links[:count]]

    def sink_streams(self) -> list[StreamInterface]:
        """All streams, as `sink.open` takes them."""
        return [links.at_sink for links in self._links]

    def ingress_interfaces(self) -> list[str]:
        """The UUT's ends of the links from the source."""
        return [links.entry for links in self._links]

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        with contextlib.ExitStack() as closing:
            for host in (*self.sinks, *self.sources, self.uut):
                closing.callback(host.close)
