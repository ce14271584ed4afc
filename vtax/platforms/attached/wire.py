"""An interface of this machine that a wire to an attached one ends at: lent to a host's namespace, and given back."""

import os
from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.namespace import Namespace, index_of
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms.contract import PlatformUnusable

OWN = Namespace("vtax's own", Path("/proc/self/ns/net"))
IFF_UP = 1


def check_wire(interface: str) -> None:
    """Look whether nothing else uses an interface; raises PlatformUnusable."""

    def look(ip: IPRoute) -> str | None:
        found = ip.link_lookup(ifname=interface)
        if not found:
            return "is not there"
        (link,) = ip.get_links(found[0])
        if link.get_attr("IFLA_MASTER") is not None:
            return "is joined to another interface"
        return "has addresses" if _addresses(ip, found[0]) else None

    if (problem := OWN.netlink(look)) is not None:
        raise PlatformUnusable(
            f"interface {interface} of this machine {problem}",
            "needs one that is there and nothing else uses",
        )


def lend(interface: str, host: Namespace, mtu: int, record: OwnershipRecord) -> bool:
    """Have an interface in the host's namespace, up; whether it was up before."""
    inside = ["nsenter", f"--net={host.path}", "--", "ip", "link"]
    record.add_removable(
        "interface",
        interface,
        remove=[*inside, "set", "dev", interface, "netns", "1"],
        present=[*inside, "show", "dev", interface],
    )

    def act(ip: IPRoute) -> bool:
        index = index_of(ip, interface)
        (link,) = ip.get_links(index)
        ip.link("set", index=index, net_ns_fd=str(host.path))
        return bool(link["flags"] & IFF_UP)

    was_up = OWN.netlink(act)
    host.bring_up(interface, mtu=mtu)
    return was_up


def give_back(interface: str, host: Namespace, *, up: bool) -> None:
    """Take an interface out of the host's namespace again; one that is not there is passed over."""

    def act(ip: IPRoute) -> bool:
        found = ip.link_lookup(ifname=interface)
        for index in found:
            ip.link("set", index=index, net_ns_pid=os.getpid())
        return bool(found)

    if host.path.exists() and host.netlink(act) and up:
        OWN.bring_up(interface)


def _addresses(ip: IPRoute, index: int) -> list[str]:
    """Addresses of an interface other than those that every one gives itself."""
    scopes = [(address["scope"], address.get_attr("IFA_ADDRESS")) for address in ip.get_addr(index=index)]
    return [str(address) for scope, address in scopes if scope == 0]
