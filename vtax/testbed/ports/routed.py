"""Port `routed`: the host's kernel routes between the link and its guests, without any switch.

Towards the link the host has the guest's MAC, and towards a guest that of whom the guest sends to: neither side is
set up otherwise than for a bridge, and frames differ by their TTL alone. What comes from the link looks into one
table, what comes from guests into another, so that a frame that passes a guest meets the same destination twice and
goes two ways.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.namespace import index_of
from vtax.testbed.addressing import Station
from vtax.testbed.ports.port import Port, Site

FIRST_TABLE = 1000
"""Beyond those that have a name; each interface of a namespace has the one of its index."""
ANYWHERE = "0.0.0.0/0"
ONLINK, PERMANENT = 4, 0x80
"""linux/rtnetlink.h, linux/neighbour.h"""
SETTINGS = {"ip_forward": "1", "conf/all/rp_filter": "0", "conf/all/send_redirects": "0"}
FOR_EACH = {"rp_filter": "0", "send_redirects": "0"}


@dataclass(frozen=True)
class Way:
    """How a station is reached: over which interface, which is there already."""

    station: Station
    interface: str


class RoutedPort(Port):
    """Routes and neighbours in tables of its own; what has no route there is dropped without a word."""

    title = "the host's kernel routes"
    answers_for_guests = True

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._near = {station.mac: station for station in site.near}
        self._far = [Way(station, site.end.interface) for station in site.far]
        self.end.namespace.run(_become_router)
        self._let_in(site.end.interface, ())

    def attach(self, interface: str, guest_mac: str) -> None:
        """Route to the guest what comes from the link and from other guests, and from it what goes to them."""
        before = self._guests()
        super().attach(interface, guest_mac)
        station = self._near[guest_mac]
        own = Way(station, interface)

        def stand_in(ip: IPRoute) -> None:
            ip.link("set", index=index_of(ip, interface), address=station.towards)

        self.end.namespace.netlink(stand_in)
        for source in (self.end.interface, *(way.interface for way in before)):
            self._route(source, [own])
        self._let_in(interface, [*self._far, *before])

    def _guests(self) -> list[Way]:
        return [Way(self._near[mac], interface) for mac, interface in self._interfaces.items()]

    def _let_in(self, interface: str, ways: Iterable[Way]) -> None:
        """Give what comes from an interface a table of its own."""

        def act(ip: IPRoute) -> None:
            table = FIRST_TABLE + index_of(ip, interface)
            ip.route("add", dst=ANYWHERE, type="blackhole", table=table)
            ip.rule("add", iifname=interface, table=table, priority=table)

        self.end.namespace.run(lambda: _quieten(interface))
        self.end.namespace.netlink(act)
        self._route(interface, ways)

    def _route(self, source: str, ways: Iterable[Way]) -> None:
        """Have what comes from `source` go these ways."""

        def act(ip: IPRoute) -> None:
            table = FIRST_TABLE + index_of(ip, source)
            for way in ways:
                to = index_of(ip, way.interface)
                address, mac = way.station.address, way.station.mac
                ip.neigh("replace", dst=address, lladdr=mac, ifindex=to, state=PERMANENT)
                for network in _networks(way.station):
                    ip.route("replace", dst=network, gateway=address, oif=to, table=table, flags=ONLINK)

        self.end.namespace.netlink(act)

    def close(self) -> None:
        """The rules go with the host's namespace, as its interfaces do; none is without its table."""

        def act(ip: IPRoute) -> None:
            for interface in (self.end.interface, *self._interfaces.values()):
                ip.flush_rules(iifname=interface)
                for index in ip.link_lookup(ifname=interface):
                    ip.flush_routes(table=FIRST_TABLE + index)

        self.end.namespace.netlink(act)


def _networks(station: Station) -> Iterator[str]:
    yield f"{station.address}/32"
    yield from station.beyond


def _become_router() -> None:
    for name, value in SETTINGS.items():
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value)


def _quieten(interface: str) -> None:
    for name, value in FOR_EACH.items():
        Path(f"/proc/sys/net/ipv4/conf/{interface}/{name}").write_text(value)
