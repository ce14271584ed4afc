"""Addresses of a testbed: MACs are locally administered, networks are RFC 2544's own (198.18.0.0/15, RFC 6890).

Stream i runs source 198.18.i.2 -> UUT 198.18.i.1 | UUT 198.19.i.1 -> sink 198.19.i.2.
"""

from dataclasses import dataclass

UDP_PORT = 9
"""Source and destination port of test frames: discard, as pktgen sends them."""


@dataclass(frozen=True)
class StreamAddresses:
    """MACs and IPv4 addresses of one stream's four interfaces; `uut_*` are those of the guest's NICs."""

    stream: int

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
        return f"198.18.{self.stream}.2"

    @property
    def uut_in_ip(self) -> str:
        """The UUT, towards the source."""
        return f"198.18.{self.stream}.1"

    @property
    def uut_out_ip(self) -> str:
        """The UUT, towards the sink."""
        return f"198.19.{self.stream}.1"

    @property
    def sink_ip(self) -> str:
        """The sink."""
        return f"198.19.{self.stream}.2"

    def end_mac(self, role: int) -> str:
        """A link end on the host that belongs to no guest: 0 towards the source, 1 towards the sink."""
        return self._mac(0x10 + role)

    def _mac(self, role: int) -> str:
        return f"02:76:74:61:{self.stream:02x}:{role:02x}"
