"""A NIC of a guest that shares the host's kernel: a veth pair or a macvlan, what taps are to an emulator."""

from pyroute2 import IPRoute

from vtax.machine.namespace import Namespace, index_of
from vtax.machine.offloads import send_whole
from vtax.platforms.contract import GuestNic


def add_veth(host: Namespace, outside: str, guest: Namespace, inside: str, nic: GuestNic) -> None:
    """Make a pair: `outside` in the host's namespace and up, `inside` the guest's NIC.

    Where the port has NICs made on top of its link's end there is nothing outside: the NIC is a macvlan.
    """
    if (lower := nic.port.lower) is not None:
        settings = {
            "address": nic.mac,
            "mtu": nic.mtu,
            "net_ns_fd": str(guest.path),
            "macvlan_mode": "bridge",
        }
        host.netlink(
            lambda ip: ip.link("add", ifname=inside, kind="macvlan", link=index_of(ip, lower), **settings)
        )
        return
    peer = {"ifname": inside, "net_ns_fd": str(guest.path), "address": nic.mac, "mtu": nic.mtu}
    host.netlink(lambda ip: ip.link("add", ifname=outside, kind="veth", mtu=nic.mtu, peer=peer))
    host.bring_up(outside)
    if not nic.port.offloads:
        send_whole(guest, inside)


def remove_veth(host: Namespace, outside: str) -> None:
    """Delete a pair; left to the end of its namespace, its name would be taken for a while yet."""

    def act(ip: IPRoute) -> None:
        for index in ip.link_lookup(ifname=outside):
            ip.link("del", index=index)

    if host.path.exists():
        host.netlink(act)
