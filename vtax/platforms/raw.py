"""The bare host: its own kernel, in the namespace where the wire ends. The reference of every ratio."""

import os
import time
from dataclasses import dataclass, field

from vtax.machine.agent import Agent, agent_binary, start_agent
from vtax.machine.remedy import AS_ROOT, build_agent
from vtax.platforms.contract import GuestPlan, PlatformConfig, PlatformUnusable, Probe


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

    def check(self, config: Config) -> None:
        """Namespaces and links need root."""
        require_root()
        require_agent()

    def prepare(self, config: Config) -> Probe:
        """Nothing to fetch."""
        self.check(config)
        return Probe("none", {"kernel": os.uname().release})

    def start(self, plan: GuestPlan) -> RawGuest:
        """Start an agent in the host's namespace."""
        begun = time.monotonic()
        agent = start_agent(
            plan.name, netns=plan.host.path, cpus=list(plan.cpus), log=plan.scratch / f"{plan.name}.log"
        )
        try:
            plan.record.add_process(agent.process.pid, plan.name)
            agent.wait_hello(5.0)
        except BaseException:
            agent.close()
            raise
        return RawGuest(agent, time.monotonic() - begun)


def require_root() -> None:
    """Raise PlatformUnusable unless namespaces, links and BPF programs can be made."""
    if os.geteuid() != 0:
        raise PlatformUnusable("network namespaces, links and BPF programs need root", AS_ROOT)


def require_agent() -> None:
    """Raise PlatformUnusable unless the agent, which every guest runs, has been built."""
    try:
        agent_binary()
    except FileNotFoundError as error:
        raise PlatformUnusable("the agent is not built", build_agent()) from error
