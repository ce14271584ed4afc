"""Containers of an OCI runtime: the host's kernel behind a second pair of interfaces, in namespaces of their own."""

import contextlib
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from vtax.machine.agent import Agent, AgentGone
from vtax.machine.namespace import Namespace
from vtax.machine.remedy import install
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.platforms.oci import check_limits, find_runtime, runtime_command, write_bundle
from vtax.platforms.raw import require_agent, require_protocols, require_root
from vtax.platforms.veth import add_veth, remove_veth
from vtax.stages.hooks import NicKind

HELLO_TIMEOUT_S = 10.0


class Config(GuestConfig):
    """Keys of containers."""

    runtime: str = Field("runc", pattern=r"^[a-z][a-z0-9-]*$", description="an OCI runtime's command name")
    memory_bytes: int | None = Field(None, ge=16 << 20, description="cgroup memory limit")

    @property
    def limits(self) -> list[str]:
        """The cgroup controllers that guests need."""
        return ["cpuset"] if self.memory_bytes is None else ["cpuset", "memory"]


@dataclass
class ContainerGuest:
    """A container whose only process is the agent."""

    agent: Agent
    hello_s: float
    undo: contextlib.ExitStack
    """What takes down all that starting it has made, newest first."""
    log: Path
    modules: list[str] = field(default_factory=list)

    def threads(self) -> dict[int, tuple[int, str]]:
        """None: the host's kernel forwards, on the threads of its ingress."""
        return {}

    def last_words(self) -> str:
        """What runtime and agent wrote to standard error."""
        return tail(self.log)

    def stop(self) -> None:
        """End the agent, delete the container and its namespace (and with it the veth pairs)."""
        self.undo.close()


class Kind:
    """Platform kind `container`."""

    port = "bridge"
    nic: NicKind = "veth"
    own_kernel = False
    programs_of: ProgramsOf = "host"

    def check(self, config: Config) -> None:
        """The runtime must be installed, and able to apply what is asked of it."""
        require_root()
        require_agent()
        config.check_scheduling()
        find_runtime(config.runtime)
        check_limits(config.runtime, config.limits)

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Ask the runtime for its version."""
        self.check(config)
        version = told_version(find_runtime(config.runtime), config.runtime)
        return Probe("none", {"runtime": config.runtime, "version": version, **config.facts})

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The host's kernel forwards."""
        require_protocols(protocols)

    def start(self, plan: GuestPlan) -> ContainerGuest:
        """Make a namespace with one veth pair a NIC, and run the agent in a container that joins it."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        self.check(config)
        begun = time.monotonic()
        root = plan.scratch / "containers"
        runtime = runtime_command(config.runtime, root)
        namespace = Namespace(f"{plan.record.run}-{plan.name}")
        plan.record.add("namespace", name=namespace.name)
        namespace.create()
        with contextlib.ExitStack() as undo:
            undo.callback(namespace.remove)
            for number, nic in enumerate(plan.nics):
                interface = f"{plan.name}p{number}"
                add_veth(plan.host, interface, namespace, f"eth{number}", nic)
                undo.callback(remove_veth, plan.host, interface)
                nic.port.attach(interface, nic.mac)
            bundle = plan.scratch / plan.name
            programs = plan.packages is not None
            write_bundle(bundle, namespace.path, plan.own_cpus, config.memory_bytes, programs=programs)

            delete = [*runtime, "delete", "--force", namespace.name]
            plan.record.add_removable(
                "container", namespace.name, remove=delete, present=["test", "-e", str(root / namespace.name)]
            )
            log = plan.scratch / f"{plan.name}.log"
            with log.open("wb") as errors:
                process = subprocess.Popen(
                    [*plan.admission, *runtime, "run", "--bundle", str(bundle), namespace.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    process_group=0,
                )
            undo.callback(_delete, delete)
            agent = Agent(plan.name, process)
            undo.callback(agent.close)
            plan.record.add_process(process.pid, plan.name)
            try:
                agent.wait_hello(HELLO_TIMEOUT_S)
            except AgentGone as error:
                raise AgentGone(_why(error, process, config.runtime, log)) from None
            return ContainerGuest(agent, time.monotonic() - begun, undo.pop_all(), log)


def told_version(command: str, package: str, before: Sequence[str] = ()) -> str:
    """The first line that `command --version` prints; raises PlatformUnusable when it prints none.

    `before` is what precedes the command to start it.
    """
    remedy = install(package)
    try:
        done = subprocess.run(
            [*before, command, "--version"], check=False, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PlatformUnusable(f"{command} --version: {error}", remedy) from error
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise PlatformUnusable(f"{command} --version exited {done.returncode}: {said}", remedy)
    return lines[0].strip()


def tail(path: Path, lines: int = 10) -> str:
    """The last lines of a log, empty if there is none."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def _delete(command: list[str]) -> None:
    """Have the runtime delete a container; one that it cannot delete is still in the run's record."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, check=False, capture_output=True, timeout=30)


def _why(error: AgentGone, process: "subprocess.Popen[bytes]", runtime: str, log: Path) -> str:
    """Why a container said no hello: the runtime's own words where it failed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        if process.wait(1.0) != 0:
            return f"{runtime} run exited {process.returncode}: {tail(log)}"
    return f"{error}\n{tail(log)}"
