"""What this machine can measure, what it cannot, and why.

What can be tried out is: small links are built in namespaces of the doctor's own, and removed again.
"""

from pathlib import Path

from vtax.doctor.check import Check
from vtax.doctor.kernel import kernel_checks
from vtax.doctor.links import try_links
from vtax.doctor.machine import TOOL_PACKAGES, agent, bridge_netfilter, btf, cpu_latency, cpus, root, tool
from vtax.doctor.platforms import kvm, platform, switch
from vtax.machine.state import STATE_DIRECTORY
from vtax.platforms import presets
from vtax.testbed.ports import PORTS

__all__ = ["Check", "examine"]


def examine(state: Path = STATE_DIRECTORY) -> list[Check]:
    """Look at this machine; what it takes to try out links is written down under `state` and removed."""
    machine = [agent(), root(), cpus(), cpu_latency(), btf(), bridge_netfilter()]
    machine += [*kernel_checks(), *map(tool, TOOL_PACKAGES)]
    switches = [switch(name) for name in PORTS if name != "wire"]
    checks = [*machine, *try_links(state), *switches, *(platform(name) for name in presets()), kvm()]
    groups = list(dict.fromkeys(check.group for check in checks))
    return sorted(checks, key=lambda check: groups.index(check.group))
