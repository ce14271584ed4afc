"""The built-in testbed of guests that talk to each other only: all are behind one switch of their host.

    guest 0 -- switch -- guest 1
                 |
              guest 2          the switch's link leads to nobody

A guest of raw is its host itself, and alone.
"""

import contextlib

from vtax.agent_api import GuestNic, Neighbour
from vtax.testbed.addressing import Station, StreamAddresses
from vtax.testbed.guest import GuestSpec, guest_name, nic
from vtax.testbed.host import Host
from vtax.testbed.machines import End, Machines
from vtax.testbed.settings import LocalSettings

PORT = "port-in"


class RingTestbed:
    """The UUT's host with `guests` guests, each of which knows the others as its neighbours."""

    def __init__(self, settings: LocalSettings, guests: int, machines: Machines) -> None:
        self.settings = settings
        self._macs = [StreamAddresses(number).uut_in_mac for number in range(guests)]
        self.addresses = [f"198.18.0.{number + 1}" for number in range(guests)]
        """Of the guests, in their order, on one network."""
        self._machines = machines
        self.uut, self.source = machines.host("uut"), machines.host("source")

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The guests' host, and where its link leads to."""
        return (self.source, self.uut)

    @property
    def guests(self) -> list[GuestSpec]:
        """The guests."""
        return [self._guest(number) for number in range(len(self._macs))]

    def build(self, port_kind: str) -> None:
        """Make hosts, link and port."""
        for host in self.hosts:
            host.create(self.settings.bridge_netfilter)
        spare = StreamAddresses(0)
        wire = port_kind == "wire"
        near = End(self.uut, "in0", self._macs[0] if wire else spare.end_mac(0))
        far = End(self.source, "src0", spare.source_mac)
        self._machines.join(far, near, self.settings.mtu)
        next_macs = [*self._macs[1:], self._macs[0]]
        guests = [
            Station(mac, address, towards=towards)
            for mac, address, towards in zip(self._macs, self.addresses, next_macs, strict=True)
        ]
        self.uut.open_port(PORT, port_kind, near.place, [], guests)

    def _guest(self, number: int) -> GuestSpec:
        mac, count = self._macs[number], len(self._macs)
        interface = GuestNic(
            mac=mac,
            address=f"{self.addresses[number]}/24",
            mtu=self.settings.mtu,
            neighbours=[
                Neighbour(address=address, mac=other)
                for address, other in zip(self.addresses, self._macs, strict=True)
                if other != mac
            ],
        )
        return GuestSpec(
            guest_name(number, count), self.uut, [nic(self.settings, mac, PORT)], [interface], False, [mac]
        )

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        with contextlib.ExitStack() as closing:
            for host in self.hosts:
                closing.callback(host.close)
