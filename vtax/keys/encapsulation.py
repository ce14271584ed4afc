"""What stands before the test fields of a frame, and the least frame that has room for them."""

from dataclasses import dataclass

ETHERNET_BYTES = 14
TAG_BYTES = 4
"""An 802.1Q tag."""
IP_BYTES = {4: 20, 6: 40}
UDP_BYTES = 8
TEST_FIELDS_BYTES = 22
"""Magic 4, trial 4, phase 1, stream 1, sequence 4, time 8."""


@dataclass(frozen=True)
class Encapsulation:
    """The headers of a stream's frames."""

    ip_version: int = 4
    vlan: int | None = None

    @property
    def beyond_mtu_bytes(self) -> int:
        """Bytes of a frame that its link's mtu does not count."""
        return ETHERNET_BYTES + (0 if self.vlan is None else TAG_BYTES)

    @property
    def header_bytes(self) -> int:
        """Bytes before the UDP payload."""
        return self.beyond_mtu_bytes + IP_BYTES[self.ip_version] + UDP_BYTES

    @property
    def least_frame_bytes(self) -> int:
        """The shortest frame that holds the test fields."""
        return self.header_bytes + TEST_FIELDS_BYTES

    @property
    def protocols(self) -> tuple[str, ...]:
        """The kernel modules that a kernel needs to forward such frames, where it has them not built in."""
        return (*(("ipv6",) if self.ip_version == 6 else ()), *(("8021q",) if self.vlan is not None else ()))

    def __str__(self) -> str:
        tag = "" if self.vlan is None else " in a VLAN"
        return f"IPv{self.ip_version}{tag}"
