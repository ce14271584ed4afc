"""The built-in testbed: source, UUT and sink hosts are network namespaces, links are veth pairs."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

from vtax.machine.ownership import OwnershipRecord
from vtax.scenario.encapsulation import Encapsulation
from vtax.testbed.addressing import UDP_PORT, StreamAddresses
from vtax.testbed.host import Host
from vtax.testbed.link import LinkEnd, complete_frames, make_link, shape, tag_inside

GUEST = "guest"


@dataclass(frozen=True)
class LocalSettings:
    """Keys `testbed.*` as the local testbed takes them, and the frames it is for; `link_mbps` None is unlimited."""

    link_mbps: float | None
    flow_control: bool
    mtu: int
    cpus: dict[str, list[int]] = field(hash=False)
    encapsulation: Encapsulation = field(default_factory=Encapsulation)

    def problem(self) -> str | None:
        """What veth pairs cannot be, in a sentence; None where nothing is wrong."""
        if self.link_mbps is not None and not self.flow_control:
            return (
                "a shaped link of the local testbed always holds its sender back; "
                "allowed: true, or false with link_mbps: unlimited"
            )
        return None

    def refusal(self, mechanism: str) -> str | None:
        """Why a source mechanism cannot be used on such links, in a sentence; None where nothing speaks against it."""
        if self.link_mbps is not None and mechanism in ("gso", "af_xdp"):
            return (
                f"{mechanism} is not for a shaped link, whose queue counts frame by frame; allowed: auto, raw"
            )
        if self.flow_control and mechanism == "af_xdp":
            return "af_xdp passes by the queue that holds a source back; allowed: auto, raw, gso"
        return None


class LocalTestbed:
    """Three hosts and a pair of links a stream: source -> UUT -> sink, no interface shared."""

    def __init__(self, settings: LocalSettings, streams: int, record: OwnershipRecord) -> None:
        self.settings = settings
        version = settings.encapsulation.ip_version
        self.streams = [StreamAddresses(stream, version) for stream in range(streams)]
        self.source, self.uut, self.sink = (
            Host(name, record, settings.cpus) for name in ("source", "uut", "sink")
        )

    @property
    def hosts(self) -> tuple[Host, Host, Host]:
        """All hosts."""
        return (self.source, self.uut, self.sink)

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
            self.uut.open_port(f"port-{side}{number}", port_kind, end, far_mac)

    def guest_nics(self) -> list[dict[str, Any]]:
        """The NICs of the UUT's guest, as Host.start_guest takes them: in and out of each stream."""
        return [
            {"mac": mac, "port": f"port-{side}{stream.stream}", "mtu": self.settings.mtu}
            for stream in self.streams
            for side, mac in (("in", stream.uut_in_mac), ("out", stream.uut_out_mac))
        ]

    def guest_configuration(self, modules: list[str]) -> dict[str, Any]:
        """Parameters of `guest.configure`: addresses, static neighbours, forwarding."""
        nics = []
        for stream in self.streams:
            nics += [
                self._nic(stream.uut_in_mac, stream.uut_in_ip, stream.source_ip, stream.source_mac),
                self._nic(stream.uut_out_mac, stream.uut_out_ip, stream.sink_ip, stream.sink_mac),
            ]
        return {"modules": modules, "nics": nics, "forward": True}

    def guest_egress_macs(self) -> list[str]:
        """The NICs that each stream leaves the guest by."""
        return [stream.uut_out_mac for stream in self.streams]

    def source_streams(self, count: int) -> list[dict[str, Any]]:
        """The first `count` streams, as `source.open` takes them."""
        return [
            {
                "stream": stream.stream,
                "interface": f"src{stream.stream}",
                "source_mac": stream.source_mac,
                "destination_mac": stream.uut_in_mac,
                "vlan": self.settings.encapsulation.vlan,
                "source_ip": stream.source_ip,
                "destination_ip": stream.sink_ip,
                "source_port": UDP_PORT,
                "destination_port": UDP_PORT,
            }
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

    def _nic(self, mac: str, address: str, far_address: str, far_mac: str) -> dict[str, Any]:
        return {
            "mac": mac,
            "address": f"{address}/{self.streams[0].prefix_bits}",
            "mtu": self.settings.mtu,
            "vlan": self.settings.encapsulation.vlan,
            "neighbours": [{"address": far_address, "mac": far_mac}],
        }
