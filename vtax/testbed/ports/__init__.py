"""Ports: where guests' NICs meet the host, by the names that scenarios have for them."""

from vtax.platforms import PlatformConfig, PlatformUnusable
from vtax.testbed.ports.bridge import BridgePort
from vtax.testbed.ports.macvtap import MacvtapPort
from vtax.testbed.ports.ovs import OvsPort
from vtax.testbed.ports.port import Port, Service, Site, Surroundings, WirePort
from vtax.testbed.ports.routed import RoutedPort
from vtax.testbed.ports.vf import VfPort

__all__ = [
    "PORTS",
    "BridgePort",
    "Port",
    "Service",
    "Site",
    "Surroundings",
    "WirePort",
    "require_meeting",
]

PORTS: dict[str, type[Port]] = {
    "wire": WirePort,
    "bridge": BridgePort,
    "routed": RoutedPort,
    "ovs": OvsPort,
    "macvtap": MacvtapPort,
    "vf": VfPort,
}


def require_meeting(config: PlatformConfig) -> None:
    """Look whether guests' NICs can meet the host at a port; raises PlatformUnusable for those that are elsewhere."""
    if config.elsewhere is not None:
        raise PlatformUnusable(
            f"its NICs are {config.elsewhere}, where no link of the testbed ends",
            "needs a guest that already runs there, wired to interfaces of the UUT's machine: attached:GUEST, with "
            "platform.wires",
        )
