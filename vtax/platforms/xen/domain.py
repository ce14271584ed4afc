"""A domain of Xen: its definition, its NICs taken to their ports, its console as the agent's stream."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.agent import Agent
from vtax.machine.namespace import Namespace, index_of
from vtax.platforms.console import tail
from vtax.platforms.contract import GuestNic, GuestPlan
from vtax.platforms.kernel import KERNEL_WORDS
from vtax.platforms.launch import DIES_WITH_US
from vtax.platforms.xen.clock import cpu_times
from vtax.platforms.xen.toolstack import connect_backend, tool_path, xl

OWN = Namespace("vtax's own", Path("/proc/self/ns/net"))
DOM0 = 0
WORDS = f"loglevel=0 vtax.control=hvc0 {KERNEL_WORDS}"
"""Of the guest's kernel: the console is the agent's, and the kernel writes there when it panics and then alone."""
NO_SCRIPT = "/bin/true"
"""What xl runs for a NIC in place of a script: a NIC is taken to its port by who has the port."""


@dataclass
class XenGuest:
    """A domain; stdin and stdout of its console's client are the agent's."""

    agent: Agent
    hello_s: float
    name: str
    """Of the domain."""
    domain: int
    vcpus: int
    log: Path
    modules: Sequence[str] = field(default_factory=list)

    def threads(self) -> dict[int, tuple[int, str]]:
        """None: dom0 has no thread that runs a domain."""
        return {}

    def cpu_times(self) -> dict[str, float]:
        """See vtax.platforms.contract.Apart."""
        times = cpu_times(self.domain, range(self.vcpus))
        return {f"vcpu {vcpu}": ran_s for vcpu, ran_s in times.items()}

    def host_cpu_times(self, cpus: Collection[int]) -> dict[int, float]:
        """See vtax.platforms.contract.Apart; dom0's kernel numbers its virtual CPUs as Xen does."""
        return cpu_times(DOM0, cpus)

    def last_words(self) -> str:
        """What the kernel said when it panicked, else what xl complained of."""
        return "\n".join(filter(None, (tail(self.log), self.agent.death or "")))

    def stop(self) -> None:
        """Destroy the domain, and with it its NICs."""
        destroy(self.name)
        self.agent.close()


def definition(
    plan: GuestPlan, name: str, kind: str, kernel: Path, image: Path, vcpus: int, memory_bytes: int
) -> str:
    """A domain in the words of xl.cfg(5): JSON's strings and lists are its own."""
    cpus = [str(cpu) for cpu in plan.pinned] or ",".join(map(str, plan.cpus))
    keys = {
        "name": name,
        "type": kind,
        "kernel": str(kernel),
        "ramdisk": str(image),
        "extra": WORDS,
        "vcpus": vcpus,
        "memory": memory_bytes >> 20,
        "cpus": cpus,
        "vif": [f"mac={nic.mac},script={NO_SCRIPT}" for nic in plan.nics],
        **dict.fromkeys(("on_poweroff", "on_reboot", "on_crash"), "destroy"),
    }
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def console_words(domain: int) -> list[str]:
    """The command whose stdin and stdout are a domain's console, though they are no terminal."""
    return [*DIES_WITH_US, tool_path("xenconsole"), "--interactive", str(domain)]


def take_nics(plan: GuestPlan, domain: int) -> None:
    """Have the backends of a paused domain's NICs in the host's namespace, at their ports."""
    for number, nic in enumerate(plan.nics):
        _take(plan.host, f"vif{domain}.{number}", f"{plan.name}p{number}", nic)
        connect_backend(domain, number)


def destroy(name: str) -> None:
    """End a domain; one that is gone already is passed over."""
    try:
        xl("destroy", name)
    except OSError:
        if name in xl("list"):
            raise


def _take(host: Namespace, backend: str, interface: str, nic: GuestNic) -> None:
    def act(ip: IPRoute) -> None:
        ip.link("set", index=index_of(ip, backend), ifname=interface, net_ns_fd=str(host.path))

    OWN.netlink(act)
    host.bring_up(interface, mtu=nic.mtu)
    nic.port.attach(interface, nic.mac)
