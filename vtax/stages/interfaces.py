"""What the interfaces of a namespace are, as the kernel tells: which hooks see their frames follows from that."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

from vtax.machine.namespace import NAMED, Namespace
from vtax.stages.hooks import NicKind
from vtax.stages.trails import Interface, Place

IFLA_TUN_TYPE_TAP = 2
"""linux/if_tun.h"""


@dataclass(frozen=True)
class Found:
    """An interface: its kind as `ip -d link` calls it, empty for a device, and the index of what it is a member of."""

    place: Place
    index: int
    kind: str
    master: int | None = None
    far: Place | None = None
    """A veth's other end, where that can be found."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.place.name

    @property
    def is_bridge(self) -> bool:
        """Whether frames go through it from member to member, where no hook of its own sees them."""
        return self.kind == "bridge"

    @property
    def nic_kind(self) -> NicKind:
        """Its hook table."""
        known: dict[str, NicKind] = {"tap": "tap", "tun": "tap", "veth": "veth", "bridge": "bridge"}
        return known.get(self.kind, "nic")

    def interface(self, kind: NicKind | None = None) -> Interface:
        """Itself on a way; a testbed knows which veth pairs are its links, and names their `kind`."""
        return Interface(kind or self.nic_kind, self.place, self.far)


def interfaces_of(namespace: Namespace) -> dict[str, Found]:
    """Every interface of a namespace by name, the loopback left out. Raises OSError where there is no such."""

    def read(ip: IPRoute) -> tuple[list[ifinfmsg], dict[int, Namespace]]:
        links = list(ip.get_links())
        return links, _neighbours(ip, {link.get_attr("IFLA_LINK_NETNSID") for link in links} - {None})

    links, neighbours = namespace.netlink(read)
    ends = _Ends(namespace, links, neighbours)
    found = {}
    for link in links:
        name, kind = link.get_attr("IFLA_IFNAME"), _kind(link)
        far = ends.far(link) if kind == "veth" else None
        if name != "lo":
            place = Place(name, str(namespace.path))
            found[name] = Found(place, link["index"], kind, link.get_attr("IFLA_MASTER"), far)
    return found


def _kind(link: ifinfmsg) -> str:
    kind = str(link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") or "")
    of_tap = link.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA", "IFLA_TUN_TYPE") == IFLA_TUN_TYPE_TAP
    return "tap" if kind == "tun" and of_tap else kind


class _Ends:
    """The far ends of a namespace's veth pairs; other namespaces are looked into once."""

    def __init__(self, own: Namespace, links: list[ifinfmsg], neighbours: dict[int, Namespace]) -> None:
        self._neighbours = neighbours
        self._own = own
        self._names = {own.path: _names(links)}

    def far(self, link: ifinfmsg) -> Place | None:
        """The other end of a pair; None where its namespace cannot be found, or it is gone."""
        index, number = link.get_attr("IFLA_LINK"), link.get_attr("IFLA_LINK_NETNSID")
        namespace = self._own if number is None else self._neighbours.get(number)
        if namespace is None:
            return None
        if namespace.path not in self._names:
            self._names[namespace.path] = namespace.netlink(lambda ip: _names(ip.get_links()))
        name = self._names[namespace.path].get(index)
        return None if name is None else Place(name, str(namespace.path))


def _names(links: Iterable[ifinfmsg]) -> dict[int, str]:
    return {link["index"]: link.get_attr("IFLA_IFNAME") for link in links}


def _neighbours(ip: IPRoute, numbers: set[int]) -> dict[int, Namespace]:
    """Namespaces by the numbers that the socket's own has for them, as far as a name or a process leads to them."""
    found: dict[int, Namespace] = {}
    for path in _namespaces() if numbers else ():
        try:
            with path.open() as handle:
                number = (ip.get_netnsid(fd=handle.fileno()) or {}).get("nsid")
        except OSError:  # gone, or not ours to look at
            continue
        if number in numbers and number not in found:
            found[number] = Namespace(path.name, path)
        if len(found) == len(numbers):
            break
    return found


def _namespaces() -> Iterator[Path]:
    """Paths of all that can be found, a namespace once: by name, and by processes."""
    seen = set()
    named = sorted(NAMED.iterdir()) if NAMED.is_dir() else []
    for path in (*named, *Path("/proc").glob("[0-9]*/ns/net")):
        with contextlib.suppress(OSError):
            inode = path.stat().st_ino
            if inode not in seen:
                seen.add(inode)
                yield path
