"""A veth pair between the host's namespace and a guest's: what a tap is to an emulator."""

from pyroute2 import IPRoute

from vtax.machine.namespace import Namespace
from vtax.platforms.contract import GuestNic


def add_veth(host: Namespace, outside: str, guest: Namespace, inside: str, nic: GuestNic) -> None:
    """Make a pair: `outside` in the host's namespace and up, `inside` the guest's NIC."""
    peer = {"ifname": inside, "net_ns_fd": str(guest.path), "address": nic.mac, "mtu": nic.mtu}
    host.netlink(lambda ip: ip.link("add", ifname=outside, kind="veth", mtu=nic.mtu, peer=peer))
    host.bring_up(outside)


def remove_veth(host: Namespace, outside: str) -> None:
    """Delete a pair; left to the end of its namespace, its name would be taken for a while yet."""

    def act(ip: IPRoute) -> None:
        for index in ip.link_lookup(ifname=outside):
            ip.link("del", index=index)

    if host.path.exists():
        host.netlink(act)
