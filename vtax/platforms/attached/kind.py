"""Guests that are machines already running: an agent is sent to them over SSH, and removed when it ends."""

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, JsonValue

from vtax.inputs.needs import Need
from vtax.machine.agent import Agent, AgentGone, agent_binary
from vtax.machine.borrowed_nic import borrow, problem_of
from vtax.platforms.attached.ssh import SERVE, agent_variables, look, refusal, ssh
from vtax.platforms.console import tail
from vtax.platforms.contract import Argument, GuestPlan, PlatformConfig, PlatformUnusable, Probe
from vtax.platforms.launch import DIES_WITH_US, launch
from vtax.platforms.package import check_tools
from vtax.platforms.raw import PROTOCOLS, require_agent, require_root
from vtax.stages.hooks import NicKind

ARGUMENT = Argument("host", "HOST")
TOOLS = {"ssh": "openssh-client", "setpriv": "util-linux"}
HELLO_TIMEOUT_S = 60.0
"""The agent's megabytes may have a slow way."""
END_LIMIT_S = 15.0
"""How long the machine may take to put back what was changed."""
SSH_LINES = 20
"""What ssh complains of at length: a host key that has changed takes it a dozen lines."""
INTERFACE = r"[A-Za-z0-9_.-]{1,15}"


class Config(PlatformConfig):
    """Keys of attached machines."""

    host: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_\[][A-Za-z0-9_.@:%\[\]-]*$",
        max_length=255,
        description="where it is, as ssh takes it; what follows the colon in attached:HOST",
    )
    wires: str = Field(
        "",
        pattern=rf"^({INTERFACE}={INTERFACE}( {INTERFACE}={INTERFACE})*)?$",
        max_length=1000,
        description="interfaces here and there that are joined, in and out for each stream, as in eth1=ens4 eth2=ens5",
    )

    @classmethod
    def needs(cls, keys: Mapping[str, JsonValue]) -> Iterator[Need]:
        """The machine, and the interfaces of both that are borrowed."""
        if keys.get("host"):
            yield Need("hosts", f"{keys['host']} over SSH, where vtax works as root", ("host",))
        for wire in str(keys.get("wires", "")).split():
            here, _, there = wire.partition("=")
            detail = f"{here} of this machine, joined to {there} of {keys.get('host')}"
            yield Need("interfaces", detail, ("wires",))

    @property
    def refused_switches(self) -> dict[str, str]:
        """All that would make more of a borrowed interface than a member of a bridge."""
        return dict.fromkeys(
            ("macvtap", "ovs", "routed", "vf"), "an attached machine's wires end at a bridge"
        )

    @property
    def lacking(self) -> str | None:
        """The machine, or the interfaces that join it to this one."""
        if self.host is None:
            return "no machine is named; allowed: attached:HOST"
        if not self.wires:
            return (
                f"no interfaces are named that {self.host} forwards by; "
                "allowed: --set 'platform.wires=HERE=THERE HERE=THERE'"
            )
        return None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Interfaces here and there."""
        return [(wire.partition("=")[0], wire.partition("=")[2]) for wire in self.wires.split()]


@dataclass
class AttachedGuest:
    """An agent at the far end of an SSH connection."""

    agent: Agent
    hello_s: float
    undo: contextlib.ExitStack
    """Gives back the interfaces that it borrowed."""
    log: Path
    modules: Sequence[str] = field(default_factory=list)

    def threads(self) -> dict[int, tuple[int, str]]:
        """None on this machine."""
        return {}

    def last_words(self) -> str:
        """What ssh and the machine complained about."""
        return tail(self.log)

    def stop(self) -> None:
        """End the agent, wait until the machine is as it was, and take back the interfaces here."""
        self.undo.close()


class Kind:
    """Platform kind `attached`."""

    port = "bridge"
    nic: NicKind = "wire"
    own_kernel = True
    programs_of = None

    def check(self, config: Config) -> None:
        """The system's ssh must be there, and the interfaces free."""
        require_root()
        require_agent()
        check_tools(TOOLS)
        for here, _ in config.pairs:
            if (problem := problem_of(here)) is not None:
                raise PlatformUnusable(
                    f"interface {here} of this machine {problem}",
                    "needs one that is there and nothing else uses",
                )

    def known(self, config: Config) -> Probe:
        """Nothing, before it is asked."""
        return Probe("none")

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Log in and look whether the machine has what is needed."""
        self.check(config)
        if config.host is None or config.lacking is not None:
            raise PlatformUnusable(str(config.lacking), "needs both named")
        kernel, accelerator = look(config.host, [there for _, there in config.pairs])
        return Probe(accelerator, {"guest_kernel": kernel, "host": config.host, "wires": config.wires})

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The machine's kernel must speak them, or be able to load them."""
        speaks = "[ -e {0} ] || modprobe --dry-run --quiet {1} || fail 'has no {1} in its kernel'\n"
        questions = "".join(speaks.format(PROTOCOLS[module], module) for module in protocols)
        if config.host is not None and questions:
            look(config.host, [], questions)

    def start(self, plan: GuestPlan) -> AttachedGuest:
        """Send the agent, join the interfaces here to their ports, and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        assert config.host is not None  # noqa: S101 - no campaign begins without
        self.check(config)
        if len(config.pairs) < len(plan.nics):
            raise PlatformUnusable(
                f"{config.host} has {len(config.pairs)} wires, and this takes {len(plan.nics)}",
                "needs platform.wires with an interface in and one out for each stream",
            )
        joined = list(zip(config.pairs, plan.nics, strict=False))
        log = plan.scratch / f"{plan.name}.log"
        begun = time.monotonic()
        with contextlib.ExitStack() as undo:
            for (here, _), nic in joined:
                undo.callback(borrow(here, plan.host, nic.mtu, plan.record).give_back)
                nic.port.attach(here, nic.mac)
            nics = " ".join(f"{there}={nic.mac}" for (_, there), nic in joined)
            command = ssh(config.host, SERVE, nics=nics, **agent_variables(agent_binary()))
            agent = launch(plan.name, [*DIES_WITH_US, *command], log)
            process = agent.process
            undo.callback(agent.close, END_LIMIT_S)
            plan.record.add_process(process.pid, plan.name)
            try:
                _send(process, agent_binary())
                agent.wait_hello(HELLO_TIMEOUT_S)
            except (AgentGone, OSError) as error:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
                said = str(refusal(config.host, tail(log, SSH_LINES))) if process.poll() else str(error)
                raise AgentGone(f"{plan.name}: {said}") from None
            return AttachedGuest(agent, time.monotonic() - begun, undo.pop_all(), log)


def _send(process: "subprocess.Popen[bytes]", binary: Path) -> None:
    """Send the agent ahead of what is said to it."""
    assert process.stdin is not None  # noqa: S101 - opened as a pipe
    process.stdin.write(binary.read_bytes())
    process.stdin.flush()
