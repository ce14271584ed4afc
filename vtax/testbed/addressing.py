"""Addresses of a testbed: MACs are locally administered, networks are those set aside for benchmarks.

These are 198.18.0.0/15 (RFC 2544, RFC 6890) and 2001:2::/48 (RFC 5180). Stream i runs

    source 198.18.i.2      -> UUT 198.18.i.1      | UUT 198.19.i.1      -> sink 198.19.i.2
    source 2001:2:0:18ii::2 -> UUT 2001:2:0:18ii::1 | UUT 2001:2:0:19ii::1 -> sink 2001:2:0:19ii::2
"""

from dataclasses import dataclass
from ipaddress import ip_interface

from vtax.agent_api import SourceStream
from vtax.keys.frames import FrameSpec

UDP_PORT = 9
"""Ports of test frames: discard, as pktgen sends them. Further flows have the source ports above."""


@dataclass(frozen=True)
class Station:
    """Who is to be reached through a port: its NIC, its address, and the networks `beyond` it."""

    mac: str
    address: str
    beyond: tuple[str, ...] = ()
    towards: str = ""
    """Of a guest: the MAC that it sends to."""


@dataclass(frozen=True)
class StreamAddresses:
    """MACs and IP addresses of one stream's four interfaces; `uut_*` are those of the guest's NICs."""

    stream: int
    ip_version: int = 4

    @property
    def source_mac(self) -> str:
        """The source's interface."""
        return self._mac(1)

    @property
    def uut_in_mac(self) -> str:
        """The NIC that frames enter the UUT by."""
        return self._mac(2)

    @property
    def uut_out_mac(self) -> str:
        """The NIC that frames leave the UUT by."""
        return self._mac(3)

    @property
    def sink_mac(self) -> str:
        """The sink's interface."""
        return self._mac(4)

    @property
    def source_ip(self) -> str:
        """The source."""
        return self._ip(18, 2)

    @property
    def uut_in_ip(self) -> str:
        """The UUT, towards the source."""
        return self._ip(18, 1)

    @property
    def uut_out_ip(self) -> str:
        """The UUT, towards the sink."""
        return self._ip(19, 1)

    @property
    def sink_ip(self) -> str:
        """The sink."""
        return self._ip(19, 2)

    @property
    def at_source(self) -> Station:
        """The source, as a port leads to it."""
        return Station(self.source_mac, self.source_ip)

    @property
    def at_sink(self) -> Station:
        """The sink likewise."""
        return Station(self.sink_mac, self.sink_ip)

    @property
    def uut_in(self) -> Station:
        """The UUT's guest on the side of the source, with what it forwards to."""
        return Station(self.uut_in_mac, self.uut_in_ip, (self.sink_network,), self.source_mac)

    @property
    def uut_out(self) -> Station:
        """The same on the side of the sink."""
        return Station(self.uut_out_mac, self.uut_out_ip, (self.source_network,), self.sink_mac)

    def end_mac(self, role: int) -> str:
        """A link end that belongs to no guest. On the UUT's host: 0 towards the source, 1 towards the sink."""
        return self._mac(0x10 + role)

    @property
    def source_network(self) -> str:
        """The network of source and UUT."""
        return self._network(self.source_ip)

    @property
    def sink_network(self) -> str:
        """The network of UUT and sink."""
        return self._network(self.sink_ip)

    def _ip(self, side: int, host: int) -> str:
        if self.ip_version == 4:
            return f"198.{side}.{self.stream}.{host}"
        return f"2001:2:0:{side}{self.stream:02x}::{host}"

    def _network(self, address: str) -> str:
        return str(ip_interface(f"{address}/{prefix_bits(address)}").network)

    def _mac(self, role: int) -> str:
        return f"02:76:74:61:{self.stream:02x}:{role:02x}"


def prefix_bits(address: str) -> int:
    """Return the length of the prefix of an address's network."""
    return 64 if ":" in address else 24


FIRST_NEIGHBOUR = 64
"""The number of the first neighbour's stream: beyond those of all guests."""


def neighbour_streams(count: int) -> list[StreamAddresses]:
    """The addresses of so many neighbours, which speak IPv4."""
    return [StreamAddresses(FIRST_NEIGHBOUR + number) for number in range(count)]


def source_stream(
    stream: StreamAddresses,
    interface: str,
    destination_mac: str,
    frames: FrameSpec,
    link_mbps: float | None,
) -> SourceStream:
    """Return a stream of such frames, over a link of that rate (None is unlimited), as `source.open` takes it."""
    return SourceStream(
        stream=stream.stream,
        interface=interface,
        source_mac=stream.source_mac,
        destination_mac=destination_mac,
        vlan=frames.encapsulation.vlan,
        source_ip=stream.source_ip,
        destination_ip=stream.sink_ip,
        source_port=UDP_PORT,
        destination_port=UDP_PORT,
        link_mbps=link_mbps,
    )
