"""Port `macvtap`: each guest's NIC is made on top of the link's end, which hands it the frames to its MAC.

An emulator has a macvtap, whose descriptor it reads and writes like a tap's; a guest that shares the host's kernel has
a macvlan in place of a veth pair. Guests of one end reach each other (mode `bridge`); nothing else stands between.
"""

from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.fix import load_module
from vtax.platforms import PlatformUnusable
from vtax.platforms.raw import can_load
from vtax.testbed.counters import interface_counters
from vtax.testbed.ports.port import Port

DEVICES = Path("/proc/devices")


class MacvtapPort(Port):
    """Nothing of its own: the interfaces go with the guests, and with the link's end at the latest."""

    title = "NICs on top of the link's end"

    @classmethod
    def find(cls) -> dict[str, str]:
        """The kernel must have the driver, which brings macvlan with it."""
        has_driver = "macvtap" in DEVICES.read_text().split()
        if not has_driver and not can_load("macvtap"):
            raise PlatformUnusable("this kernel has no macvtap", load_module("macvtap"))
        return {}

    @property
    def lower(self) -> str:
        """The link's end."""
        return self.end.interface

    def attach(self, interface: str, guest_mac: str) -> None:
        """The NIC is on top of the link's end already; raises OSError for one that is not."""
        super().attach(interface, guest_mac)
        kinds = {name: counters["kind"] for name, counters in interface_counters(self.end.namespace).items()}
        if kinds.get(interface, "macvtap") != "macvtap":
            raise OSError(f"{interface} is a {kinds[interface]}, which no switch joins to {self.lower}")

    def close(self) -> None:
        """Delete the macvtaps, which stay when their descriptors are closed."""

        def act(ip: IPRoute) -> None:
            for interface in self._interfaces.values():
                for index in ip.link_lookup(ifname=interface):
                    ip.link("del", index=index)

        self.end.namespace.netlink(act)
