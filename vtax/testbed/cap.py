"""A bandwidth cap of the guests behind a port."""

from dataclasses import dataclass

from vtax.testbed.link import LinkEnd, cap


@dataclass(frozen=True)
class Cap:
    """Most that a port takes of each of the guests behind it, layer 1; `senders` are tc's words for their frames."""

    cap_mbps: float
    senders: list[str]
    mtu: int
    burst_frames: int | None = None

    def apply(self, end: LinkEnd) -> None:
        """Hold back what is beyond it where it leaves the host."""
        cap(end, self.cap_mbps, self.senders, self.mtu, self.burst_frames)
