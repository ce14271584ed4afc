"""What else uses an interface, so that it cannot be borrowed: all that would be cut off, or is not put back."""

import ipaddress
import os
from pathlib import Path
from socket import AF_INET, AF_INET6

from pyroute2 import IPRoute
from pyroute2.netlink import nlmsg
from pyroute2.netlink.exceptions import NetlinkError

from vtax.machine.control import control_interface
from vtax.machine.namespace import NAMED, Namespace
from vtax.machine.qdiscs import read_qdiscs

LINK_SCOPE = 253
TABLE_LOCAL, BY_KERNEL, UNICAST = 255, 2, 1
"""Of routes (linux/rtnetlink.h)."""
LINK_LOCAL = tuple(map(ipaddress.ip_network, ("169.254.0.0/16", "fe80::/10", "ff00::/8")))
PLAIN = {"RTA_TABLE", "RTA_DST", "RTA_OIF", "RTA_PRIORITY", "RTA_PREFSRC", "RTA_PREF", "RTA_CACHEINFO"}
"""Attributes of routes that are put back."""
ENDS = {"veth", "netkit", "vxcan"}
"""Kinds of interfaces whose link is their other end, not what they stand on."""
SHAPERS = {
    *("pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop", "fq", "fq_codel", "fq_pie", "codel", "pie", "tbf"),
    *("sfq", "cake", "mq", "netem", "noqueue"),
}
"""Queueing disciplines that their own options describe as a whole."""
ESTABLISHED = "01"
"""In /proc/net/tcp (net/tcp_states.h)."""
DEVICES = Path("/sys/class/net")


def find_use(ip: IPRoute, interface: str) -> str | None:
    """Return what uses an interface, as it follows its name; None where nothing does.

    By a thread in its namespace, which sees that one's /sys.
    """
    found = ip.link_lookup(ifname=interface)
    if not found:
        return "is not there"
    (link,) = ip.get_links(found[0])
    names = {each["index"]: each.get_attr("IFLA_IFNAME") for each in ip.get_links()}
    if (master := link.get_attr("IFLA_MASTER")) is not None:
        return f"is joined to {names.get(master, 'another interface')}"
    if carried := (*_beside(interface, "upper"), *_carried_elsewhere(ip, found[0])):
        return f"carries {', '.join(carried)}"
    return _own_use(ip, found[0], link) or _login(ip, found[0], interface) or _ground(ip, interface, names)


def _own_use(ip: IPRoute, index: int, link: nlmsg) -> str | None:
    """Addresses, routes, programs and queueing disciplines of an interface itself."""
    if any(address["scope"] != LINK_SCOPE for address in ip.get_addr(index=index)):
        return "has addresses"
    if (route := _foreign_route(ip, index)) is not None:
        return f"has a route to {route}"
    if (program := link.get_attr("IFLA_XDP")) is not None and program.get_attr("XDP_ATTACHED"):
        return "has an XDP program"
    for qdisc in read_qdiscs(index):
        if qdisc.kind not in SHAPERS or any(ip.get_filters(index=index, parent=qdisc.handle)):
            return f"has traffic control that cannot be put back (qdisc {qdisc.kind})"
    return None


def _beside(interface: str, side: str) -> list[str]:
    """The interfaces directly above (`upper`) or below (`lower`) one, as the kernel links them."""
    prefix = f"{side}_"
    place = DEVICES / interface
    return sorted(path.name.removeprefix(prefix) for path in place.glob(f"{prefix}*"))


def _carried_elsewhere(ip: IPRoute, index: int) -> list[str]:
    """Interfaces in other namespaces that stand on one here, such as a container's macvlan."""
    here = os.stat("/proc/thread-self/ns/net").st_ino  # noqa: PTH116
    found = []
    with open("/proc/thread-self/ns/net") as own:  # noqa: PTH123
        descriptor = own.fileno()
        for path in _namespaces(here):
            try:
                found += Namespace(path.name, path).netlink(lambda there: _above(there, index, descriptor))
            except (OSError, NetlinkError):  # it has ended meanwhile
                continue
    return sorted(set(found))


def _above(ip: IPRoute, index: int, lower: int) -> list[str]:
    """Interfaces here that stand on `index` of the namespace that the descriptor `lower` is of."""
    links = [
        link
        for link in ip.get_links()
        if link.get_attr("IFLA_LINK") == index
        and link.get_attr("IFLA_LINK_NETNSID") is not None
        and _kind(link) not in ENDS
    ]
    number = ip.get_netnsid(fd=lower)["nsid"] if links else None
    return [
        f"{link.get_attr('IFLA_IFNAME')} of another namespace"
        for link in links
        if link.get_attr("IFLA_LINK_NETNSID") == number
    ]


def _kind(link: nlmsg) -> str:
    about = link.get_attr("IFLA_LINKINFO")
    return (about.get_attr("IFLA_INFO_KIND") if about is not None else None) or ""


def _namespaces(but: int) -> list[Path]:
    """One path for each network namespace: those with a name, and those of processes."""
    found: dict[int, Path] = {}
    for path in (*NAMED.glob("*"), *Path("/proc").glob("[0-9]*/ns/net")):
        try:
            found.setdefault(path.stat().st_ino, path)
        except OSError:
            continue
    found.pop(but, None)
    return list(found.values())


def _foreign_route(ip: IPRoute, index: int) -> str | None:
    """A route by an interface that leads farther than its link, or that cannot be put back."""
    for family in (AF_INET, AF_INET6):
        for route in ip.route("dump", family=family):
            if index not in _ways(route) or (_table(route), route["proto"]) == (TABLE_LOCAL, BY_KERNEL):
                continue
            destination = f"{route.get_attr('RTA_DST') or ('::' if family == AF_INET6 else '0.0.0.0')}"  # noqa: S104
            to = ipaddress.ip_network(f"{destination}/{route['dst_len']}")
            plain = {name for name, _ in route["attrs"]} <= PLAIN
            near = any(to.version == near.version and to.subnet_of(near) for near in LINK_LOCAL)  # type: ignore[arg-type]
            if not (plain and near):
                return "everywhere" if not route["dst_len"] else str(to)
    return None


def _table(route: nlmsg) -> int:
    return int(route.get_attr("RTA_TABLE") or route["table"])


def _ways(route: nlmsg) -> set[int]:
    """The interfaces that a route leads by."""
    several = {hop["oif"] for hop in route.get_attr("RTA_MULTIPATH") or ()}
    return several | {route.get_attr("RTA_OIF")} - {None}


def _login(ip: IPRoute, index: int, interface: str) -> str | None:
    """A connection over an interface's own addresses, which are link-local by now: SSH may come in so."""
    if control_interface() == interface:
        return "is where SSH comes in"
    own = {ipaddress.ip_address(each.get_attr("IFA_ADDRESS")) for each in ip.get_addr(index=index)}
    tables = [Path("/proc/thread-self/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    for _, local, _, state, *_ in (line.split() for table in tables for line in table):
        if state == ESTABLISHED and _address(local.partition(":")[0]) in own:
            return "carries a TCP connection"
    return None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as /proc/net/tcp has it: words of the host's byte order."""
    words = (bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    return ipaddress.ip_address(b"".join(words))


def _ground(ip: IPRoute, interface: str, names: dict[int, str]) -> str | None:
    """The way out of this machine, or in, that goes by what an interface stands on."""
    beneath = _closure(interface, "lower")
    shared = {name for lower in beneath for name in (lower, *_closure(lower, "upper"))} - {interface}
    ways = {
        names.get(way)
        for family in (AF_INET, AF_INET6)
        for route in ip.route("dump", family=family)
        if not route["dst_len"] and route["type"] == UNICAST
        for way in _ways(route)
    }
    for found, what in ((ways, "the default route"), ({control_interface()}, "SSH")):
        if carrying := sorted(name for name in shared if name in found):
            return f"stands on {', '.join(beneath)}, where {what} goes by {carrying[0]}"
    return None


def _closure(interface: str, side: str) -> list[str]:
    """All interfaces above or below one."""
    found: list[str] = []
    for name in _beside(interface, side):
        found += [name, *_closure(name, side)]
    return list(dict.fromkeys(found))
