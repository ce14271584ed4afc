"""What does not go together with a switch (`testbed.switch`), whatever the platform."""

from collections.abc import Iterator

from vtax.keys.testbed import TestbedSettings
from vtax.keys.traced import TracedKeys
from vtax.keys.workload import Refusal, WorkloadKeys

MOST_ROUTED_GUESTS = 2
"""A router stands in for one neighbour of each guest."""


def switch_refusals(testbed: TestbedSettings, workload: WorkloadKeys) -> Iterator[Refusal]:
    """Frames that a router does not take, and ways that no hook sees."""
    switch = testbed.switch
    frames = workload.encapsulation
    if switch == "routed" and frames.ip_version != 4:
        problem = "the host routes IPv4 alone; allowed with IPv6: bridge, ovs, macvtap"
        yield Refusal("testbed", "switch", switch, problem)
    if switch == "routed" and frames.vlan is not None:
        problem = "a VLAN ends at a router; allowed with a tag: bridge, ovs, macvtap"
        yield Refusal("testbed", "switch", switch, problem)
    guests = workload.own_guests or 0
    if switch == "routed" and guests > MOST_ROUTED_GUESTS:
        problem = f"a ring of {guests} guests has no routes; allowed with it: bridge, ovs, macvtap"
        yield Refusal("testbed", "switch", switch, problem)
    if switch == "macvtap" and isinstance(workload, TracedKeys) and workload.is_traced:
        problem = "no hook sees a frame enter a NIC on top of the link's end; allowed with trace: bridge, routed, ovs"
        yield Refusal("testbed", "switch", switch, problem)
