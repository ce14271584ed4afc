"""Port `bridge`: a Linux bridge."""

from collections.abc import Sequence

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl import ndmsg

from vtax.machine.namespace import index_of
from vtax.testbed.ports.port import Port, Site

STATIC = ndmsg.states["noarp"]
"""An entry that leads to a member; a `permanent` one would lead to the host itself."""
NTF_MASTER = ndmsg.flags["master"]


class BridgePort(Port):
    """The link's end and each guest's interface are its members."""

    title = "a Linux bridge"
    own_interface = True

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.name = site.name
        quiet = {"br_stp_state": 0, "br_mcast_snooping": 0, "br_forward_delay": 0}
        self.end.namespace.netlink(lambda ip: ip.link("add", ifname=self.name, kind="bridge", **quiet))
        self.end.namespace.bring_up(self.name)
        self._join(self.end.interface, [station.mac for station in site.far])

    def attach(self, interface: str, guest_mac: str) -> None:
        """Make the guest's interface a member of the bridge."""
        super().attach(interface, guest_mac)
        self._join(interface, [guest_mac])

    def close(self) -> None:
        """Delete the bridge; its members are set free by that."""
        self.end.namespace.netlink(lambda ip: ip.link("del", index=index_of(ip, self.name)))

    def _join(self, interface: str, macs_behind: Sequence[str]) -> None:
        def act(ip: IPRoute) -> None:
            member = index_of(ip, interface)
            ip.link("set", index=member, master=index_of(ip, self.name))
            ip.brport("set", index=member, learning=0, unicast_flood=0, mcast_flood=0, bcast_flood=0)
            for mac in dict.fromkeys(macs_behind):
                ip.fdb("add", ifindex=member, lladdr=mac, state=STATIC, flags=NTF_MASTER)

        self.end.namespace.netlink(act)
