"""Declare the network of guests that talk to each other only: all are behind one switch of their host.

    guest 0 -- switch -- guest 1
                 |
              guest 2          the switch's link leads to nobody

A guest of raw is its host itself, and alone.
"""

from vtax.agent_api import GuestNic
from vtax.testbed.addressing import Station, StreamAddresses
from vtax.testbed.guest import GuestSpec, guest_name, interface
from vtax.testbed.network import Link, Network, Node, Plug, Port
from vtax.testbed.settings import LocalSettings

PORT = "port-in"


def ring(settings: LocalSettings, port_kind: str, guests: int) -> Network:
    """Declare the UUT's host with so many guests, each of which knows the others as its neighbours."""
    spare, names = StreamAddresses(0), [guest_name(number, guests) for number in range(guests)]
    macs = [StreamAddresses(number).uut_in_mac for number in range(guests)]
    stations = [
        Station(mac, f"198.18.0.{number}", towards=towards)
        for number, (mac, towards) in enumerate(zip(macs, [*macs[1:], macs[0]], strict=True), start=1)
    ]
    near = Plug("uut", "in0", macs[0] if port_kind == "wire" else spare.end_mac(0))
    far = Plug("source", "src0", spare.source_mac)

    def nic(own: Station) -> GuestNic:
        return interface(settings, own, [station for station in stations if station != own])

    return Network(
        settings,
        parts=(
            *(Node("source"), Node("uut")),
            *(Link(far, near), Port(PORT, port_kind, near, far=[], near=stations)),
        ),
        guests=tuple(
            GuestSpec(name, "uut", {PORT: nic(station)})
            for name, station in zip(names, stations, strict=True)
        ),
        ends=tuple(zip(names, [*names[1:], names[0]], strict=True)),
    )
