"""Ports: where guests' NICs meet the host, by the names that scenarios have for them."""

from vtax.testbed.ports.bridge import BridgePort
from vtax.testbed.ports.macvtap import MacvtapPort
from vtax.testbed.ports.ovs import OvsPort
from vtax.testbed.ports.port import Cap, Port, Service, Site, Surroundings, WirePort
from vtax.testbed.ports.routed import RoutedPort
from vtax.testbed.ports.vf import VfPort

__all__ = ["PORTS", "BridgePort", "Cap", "Port", "Service", "Site", "Surroundings", "WirePort"]

PORTS: dict[str, type[Port]] = {
    "wire": WirePort,
    "bridge": BridgePort,
    "routed": RoutedPort,
    "ovs": OvsPort,
    "macvtap": MacvtapPort,
    "vf": VfPort,
}
