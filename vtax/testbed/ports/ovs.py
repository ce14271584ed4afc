"""Port `ovs`: a bridge of Open vSwitch's, with static rules."""

import subprocess
from collections.abc import Mapping

from vtax.testbed.ports.open_vswitch import OpenVSwitch, datapath, find_open_vswitch
from vtax.testbed.ports.port import Port, Site

SERVICE = "Open vSwitch"
NO_MERGING = 1
"""Bytes of the longest train that an interface may put together from what arrives: no two frames make one."""


class OvsPort(Port):
    """The link's end and each guest's interface are its ports; a rule for each MAC leads there, and to nowhere else.

    The user-space datapath takes frames as they are on a wire: trains and unfinished checksums it neither cuts up nor
    completes, so that senders do that, and the link's end puts none together.
    """

    title = "Open vSwitch"
    offloads = False

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        host, self.name = site.host, site.name
        assert host is not None  # noqa: S101 - a switch that is a program is some host's
        running = host.service(SERVICE, lambda: OpenVSwitch(site.end.namespace, host))
        assert isinstance(running, OpenVSwitch)  # noqa: S101 - this module alone starts it
        self._switch = running
        _keep_apart(site)
        settings = [f"datapath_type={datapath()}", "fail_mode=secure", "other-config:disable-in-band=true"]
        self._switch.configure("add-br", self.name, "--", "set", "bridge", self.name, *settings)
        self._switch.add_flow(self.name, "priority=0,actions=drop")
        self._join(self.end.interface, [station.mac for station in site.far])

    @classmethod
    def find(cls) -> dict[str, str]:
        """Its programs must be installed; the datapath is the kernel's where that has one."""
        return {"version": find_open_vswitch(), "datapath": datapath()}

    def attach(self, interface: str, guest_mac: str) -> None:
        """Make the guest's interface a port of the bridge."""
        super().attach(interface, guest_mac)
        self._join(interface, [guest_mac])

    def dropped(self) -> Mapping[str, int]:
        """What its packet sockets had no room for."""
        mine = {self.end.interface, *self._interfaces.values()}
        return {name: count for name, count in self._switch.dropped().items() if name in mine}

    def close(self) -> None:
        """Delete the bridge; a switch that has ended has none."""
        if self._switch.runs:
            self._switch.configure("del-br", self.name)

    def _join(self, interface: str, macs_behind: list[str]) -> None:
        # Left to itself it would replace the interface's queueing discipline, which is the link's or the cap's.
        alone = [
            "--",
            "--id=@alone",
            "create",
            "qos",
            "type=linux-noop",
            "--",
            "set",
            "port",
            interface,
            "qos=@alone",
        ]
        self._switch.configure("add-port", self.name, interface, *alone)
        for mac in dict.fromkeys(macs_behind):
            self._switch.add_flow(self.name, f"dl_dst={mac},actions=output:{interface}")


def _keep_apart(site: Site) -> None:
    """Have the link's end hand on every frame by itself."""
    command = ["ip", "link", "set", "dev", site.end.interface, "gro_max_size", str(NO_MERGING)]
    subprocess.run(
        ["nsenter", f"--net={site.end.namespace.path}", "--", *command],
        check=True,
        capture_output=True,
        timeout=10,
    )
