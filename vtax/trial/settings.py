"""The built-in testbed as a cell wants it."""

from vtax.keys.cell import Cell
from vtax.testbed.settings import LocalSettings


def settings_of(cell: Cell, cpus: dict[str, list[int]]) -> LocalSettings:
    """Return the settings of the local testbed for a cell, on a machine of such CPUs."""
    testbed = cell.testbed
    return LocalSettings(
        testbed.link_mbps,
        testbed.flow_control,
        testbed.mtu,
        cpus,
        cell.workload.encapsulation,
        testbed.is_shared,
        testbed.cap_mbps,
        testbed.switch,
        testbed.bridge_netfilter,
    )
