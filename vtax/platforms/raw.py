"""The bare host: its own kernel, in the namespace where the wire ends. The reference of every ratio."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtax.machine.agent import HELLO_TIMEOUT_S, Agent, agent_binary, start_agent
from vtax.machine.emulation import patience
from vtax.machine.fix import AS_ROOT, build_agent
from vtax.platforms.contract import GuestPlan, PlatformConfig, PlatformUnusable, Probe, ProgramsOf
from vtax.stages.hooks import NicKind

PROTOCOLS = {
    "ipv6": Path("/proc/sys/net/ipv6"),
    "8021q": Path("/proc/net/vlan"),
    "sctp": Path("/proc/sys/net/sctp"),
}
"""What is there where a kernel speaks them."""


class Config(PlatformConfig):
    """Raw has nothing to set."""


@dataclass
class RawGuest:
    """An agent in the host's namespace, which sets up forwarding there and then has nothing to do."""

    agent: Agent
    hello_s: float
    modules: list[str] = field(default_factory=list)

    def threads(self) -> dict[int, tuple[int, str]]:
        """None: the kernel forwards."""
        return {}

    def last_words(self) -> str:
        """The agent has no console."""
        return ""

    def stop(self) -> None:
        """End the agent; the addresses go with the links."""
        self.agent.close()


class Kind:
    """Platform kind `raw`."""

    port = "wire"
    nic: NicKind = "wire"
    own_kernel = False
    programs_of: ProgramsOf = "host"

    def check(self, config: Config) -> None:
        """Namespaces and links need root."""
        require_root()
        require_agent()

    def known(self, config: Config) -> Probe:
        """The host's kernel."""
        return Probe("none", {"kernel": os.uname().release})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Nothing to fetch."""
        self.check(config)
        return self.known(config)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The host's kernel forwards."""
        require_protocols(protocols)

    def start(self, plan: GuestPlan) -> RawGuest:
        """Start an agent in the host's namespace."""
        begun = time.monotonic()
        agent = start_agent(
            plan.name, netns=plan.host.path, cpus=list(plan.cpus), log=plan.scratch / f"{plan.name}.log"
        )
        try:
            plan.record.add_process(agent.process.pid, plan.name)
            agent.wait_hello(patience(HELLO_TIMEOUT_S))
        except BaseException:
            agent.close()
            raise
        return RawGuest(agent, time.monotonic() - begun)


def require_root() -> None:
    """Raise PlatformUnusable unless namespaces, links and BPF programs can be made."""
    if os.geteuid() != 0:
        raise PlatformUnusable("network namespaces, links and BPF programs need root", AS_ROOT)


def require_protocols(protocols: Sequence[str]) -> None:
    """Raise PlatformUnusable unless this kernel has these modules, built in or to be loaded."""
    for module in protocols:
        if not PROTOCOLS[module].exists() and not can_load(module):
            raise PlatformUnusable(f"this kernel has no {module}", f"needs a kernel with module {module}")


def can_load(module: str) -> bool:
    """Whether this kernel's modules have one of that name, or its own code has."""
    command = ["modprobe", "--dry-run", "--quiet", module]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=10)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def require_agent() -> None:
    """Raise PlatformUnusable unless the agent, which every guest runs, has been built."""
    try:
        agent_binary()
    except FileNotFoundError as error:
        raise PlatformUnusable("the agent is not built", build_agent()) from error
