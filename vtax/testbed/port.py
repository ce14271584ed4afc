"""A port: where a guest's NIC meets the host.

A port stands between a link's end on the host and the guest's own interface there (a tap, a veth). Forwarding
entries are static and nothing is learned or flooded, so that only the measured frames cross it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl import ndmsg

from vtax.machine.namespace import index_of
from vtax.testbed.link import LinkEnd, cap

STATIC = ndmsg.states["noarp"]
"""An entry that leads to a member; a `permanent` one would lead to the host itself."""
NTF_MASTER = ndmsg.flags["master"]


class Port(Protocol):
    """What a platform may do with a port."""

    end: LinkEnd
    """What leads to it from outside."""

    def interface_of(self, guest_mac: str) -> str:
        """The interface in the host's namespace by which a guest's NIC meets the host; KeyError without one."""

    def attach(self, interface: str, guest_mac: str) -> None:
        """Join the guest's interface, which is in the host's namespace, to the port."""

    def close(self) -> None:
        """Take the port away and leave the link's end as it was."""


class WirePort:
    """No port at all: the link's end itself is the NIC. Raw has this one."""

    def __init__(self, end: LinkEnd, name: str, far_macs: Sequence[str]) -> None:
        self.end = end

    def interface_of(self, guest_mac: str) -> str:
        """The link's end."""
        return self.end.interface

    def attach(self, interface: str, guest_mac: str) -> None:
        """The NIC is the link's end already."""

    def close(self) -> None:
        """Nothing was made."""


class BridgePort:
    """A Linux bridge: the link's end and each guest's interface."""

    def __init__(self, end: LinkEnd, name: str, far_macs: Sequence[str]) -> None:
        self.end = end
        self.name = name
        self._members: dict[str, str] = {}
        quiet = {"br_stp_state": 0, "br_mcast_snooping": 0, "br_forward_delay": 0}
        end.namespace.netlink(lambda ip: ip.link("add", ifname=name, kind="bridge", **quiet))
        end.namespace.bring_up(name)
        self._join(end.interface, far_macs)

    def interface_of(self, guest_mac: str) -> str:
        """The member that the guest is behind."""
        return self._members[guest_mac]

    def attach(self, interface: str, guest_mac: str) -> None:
        """Make the guest's interface a member of the bridge."""
        self._members[guest_mac] = interface
        self._join(interface, [guest_mac])

    def close(self) -> None:
        """Delete the bridge; its members are set free by that."""
        self.end.namespace.netlink(lambda ip: ip.link("del", index=index_of(ip, self.name)))

    def _join(self, interface: str, macs_behind: Sequence[str]) -> None:
        def act(ip: IPRoute) -> None:
            member = index_of(ip, interface)
            ip.link("set", index=member, master=index_of(ip, self.name))
            ip.brport("set", index=member, learning=0, unicast_flood=0, mcast_flood=0, bcast_flood=0)
            for mac in macs_behind:
                ip.fdb("add", ifindex=member, lladdr=mac, state=STATIC, flags=NTF_MASTER)

        self.end.namespace.netlink(act)


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


PORTS: dict[str, type[WirePort] | type[BridgePort]] = {"wire": WirePort, "bridge": BridgePort}
