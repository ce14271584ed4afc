"""Streams of data over a transport: what params of senders and receivers are made of."""

from dataclasses import dataclass, field

from vtax.agent_api import SocketOptions
from vtax.keys.endpoints import Transport

PIECE_BYTES = {"tcp": 65536, "sctp": 1024}
"""What is handed over at once where the scenario does not say: what costs the sender little."""
UDP_HEADERS_BYTES = 28


@dataclass(frozen=True)
class StreamSpec:
    """The streams of each pair of ends; where nothing else is said, one of TCP that goes as fast as it can."""

    warmup_s: float
    duration_s: float
    transport: Transport = "tcp"
    flows: int = 1
    """Connections of a pair."""
    message_bytes: int | None = None
    """What is handed to the kernel at once; None: what suits the transport."""
    intended_goodput_mbps: float | None = None
    """Of each connection; None: as fast as it goes."""
    options: SocketOptions = field(default_factory=lambda: SocketOptions(no_delay=False))
    """The sockets' options; what is left to the kernels is left out."""

    def piece_bytes(self, mtu: int) -> int:
        """What is handed to the kernel at once on links of that mtu."""
        if self.message_bytes is not None:
            return self.message_bytes
        return PIECE_BYTES.get(self.transport, mtu - UDP_HEADERS_BYTES)
