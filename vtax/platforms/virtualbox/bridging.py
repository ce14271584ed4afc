"""What VirtualBox's NICs are bridged to: a veth pair from the port to vtax's own namespace.

VirtualBox looks interfaces up where its server runs, and takes frames from them and puts frames onto them itself
(VirtualBox User Manual, section 6.5). So that end is up, and has nothing by which this machine would speak or listen.
"""

import contextlib
from dataclasses import replace
from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.borrowed_nic import OWN
from vtax.machine.namespace import index_of
from vtax.platforms.contract import GuestPlan
from vtax.platforms.veth import add_veth, remove_veth
from vtax.platforms.virtualbox.commands import BridgedNic

IPV6 = Path("/proc/sys/net/ipv6/conf")
LETTERS = 15
"""The longest name that an interface may have."""


def bridge_nics(plan: GuestPlan, undo: contextlib.ExitStack) -> list[BridgedNic]:
    """A pair for each NIC of a guest, its far end at the port."""
    nics = []
    for number, nic in enumerate(plan.nics):
        outside = f"{plan.name}p{number}"
        # VirtualBox's driver takes the first interface of that name in any namespace.
        inside = f"{plan.record.run.removeprefix('vtax-')}{outside}"[-LETTERS:]
        add_veth(plan.host, outside, OWN, inside, replace(nic, mac=_another(nic.mac)))
        undo.callback(remove_veth, plan.host, outside)
        _silence(inside)
        nic.port.attach(outside, nic.mac)
        nics.append(BridgedNic(nic.mac, inside))
    return nics


def _another(mac: str) -> str:
    """An address that is not the guest's: frames to that one are none of this machine's."""
    first, _, others = mac.partition(":")
    return f"{int(first, 16) ^ 0x04:02x}:{others}"


def _silence(interface: str) -> None:
    """Set an interface up that this machine has no part in: no IPv6, no answers to ARP."""
    if (IPV6 / interface).is_dir():
        (IPV6 / interface / "disable_ipv6").write_text("1")

    def act(ip: IPRoute) -> None:
        ip.link("set", index=index_of(ip, interface), arp=False, state="up")

    OWN.netlink(act)
