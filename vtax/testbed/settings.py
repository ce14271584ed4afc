"""Keys `testbed.*` as the built-in testbeds take them, and the frames these are for."""

from dataclasses import dataclass, field

from vtax.keys.encapsulation import Encapsulation
from vtax.testbed.cap import Cap


@dataclass(frozen=True)
class LocalSettings:
    """`link_mbps` None is unlimited; `shared` tells whether all guests are behind one link, which a switch feeds."""

    link_mbps: float | None
    flow_control: bool
    mtu: int
    cpus: dict[str, list[int]] = field(hash=False)
    encapsulation: Encapsulation = field(default_factory=Encapsulation)
    shared: bool = False
    cap_mbps: float | None = field(default=None, compare=False)
    """Of no concern to a source's ceilings, as those below."""
    switch: str = field(default="bridge", compare=False)
    """The port that guests' NICs meet the host at (a key of testbed.ports.PORTS), where they are not its own."""
    bridge_netfilter: bool = field(default=False, compare=False)
    """Whether bridges of the hosts pass frames to netfilter."""

    def cap(self, senders: list[str], burst_frames: int | None = None) -> Cap | None:
        """What a port holds back of each of the guests behind it, as Host.open_port takes it."""
        if self.cap_mbps is None:
            return None
        return Cap(self.cap_mbps, senders, self.mtu, burst_frames)

    def port_kind(self, needed: str) -> str:
        """The kind of the ports of guests whose platform needs one: theirs is the link's end, or the switch's."""
        return needed if needed == "wire" else self.switch

    @property
    def uut_cpus(self) -> list[int]:
        """The CPUs of the UUT's host and its guests."""
        return sorted({*self.cpus["host"], *self.cpus["guests"]})

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
        if self.flow_control and mechanism == "gso":
            return (
                "gso is not for flow control: its trains, held back, are cut apart on the CPU of the unit under "
                "test; allowed: auto, raw, af_xdp"
            )
        if self.flow_control and mechanism == "pktgen":
            return (
                "pktgen is not for flow control: it passes the queue that would hold its frames back; allowed: auto, "
                "raw, af_xdp, or testbed.flow_control: false with link_mbps: unlimited"
            )
        return None
