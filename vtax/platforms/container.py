"""Containers of an OCI runtime: the host's kernel behind a second pair of interfaces, in namespaces of their own."""

import contextlib
import json
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field
from pyroute2 import IPRoute

from vtax.machine.agent import Agent, AgentGone, agent_binary
from vtax.machine.namespace import Namespace
from vtax.machine.remedy import install
from vtax.platforms.contract import GuestNic, GuestPlan, PlatformConfig, PlatformUnusable, Probe
from vtax.platforms.raw import require_agent, require_root

HELLO_TIMEOUT_S = 10.0
CAPABILITIES = ["CAP_NET_ADMIN", "CAP_NET_RAW"]


class Config(PlatformConfig):
    """Keys of containers."""

    runtime: str = Field("runc", pattern=r"^[a-z][a-z0-9-]*$", description="an OCI runtime's command name")
    memory_bytes: int | None = Field(None, ge=16 << 20, description="cgroup memory limit")


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

    def check(self) -> None:
        """A runtime must be installed."""
        require_root()
        require_agent()
        _runtime("runc")

    def prepare(self, config: Config) -> Probe:
        """Ask the runtime for its version."""
        require_root()
        require_agent()
        runtime = _runtime(config.runtime)
        return Probe("none", {"runtime": config.runtime, "version": told_version(runtime, config.runtime)})

    def start(self, plan: GuestPlan) -> ContainerGuest:
        """Make a namespace with one veth pair a NIC, and run the agent in a container that joins it."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        begun = time.monotonic()
        runtime, root = _runtime(config.runtime), plan.scratch / "containers"
        namespace = Namespace(f"{plan.record.run}-{plan.name}")
        plan.record.add("namespace", name=namespace.name)
        namespace.create()
        with contextlib.ExitStack() as undo:
            undo.callback(namespace.remove)
            for number, nic in enumerate(plan.nics):
                interface = f"{plan.name}p{number}"
                _join(plan.host, interface, namespace, f"eth{number}", nic)
                undo.callback(_part, plan.host, interface)
                nic.port.attach(interface, nic.mac)
            bundle = plan.scratch / plan.name
            write_bundle(bundle, namespace.path, list(plan.cpus), config)

            plan.record.add("container", name=namespace.name, runtime=runtime, root=str(root))
            log = plan.scratch / f"{plan.name}.log"
            with log.open("wb") as errors:
                process = subprocess.Popen(
                    [runtime, "--root", str(root), "run", "--bundle", str(bundle), namespace.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    process_group=0,
                )
            undo.callback(_delete, [runtime, "--root", str(root), "delete", "--force", namespace.name])
            agent = Agent(plan.name, process)
            undo.callback(agent.close)
            plan.record.add_process(process.pid, plan.name)
            try:
                agent.wait_hello(HELLO_TIMEOUT_S)
            except AgentGone as error:
                raise AgentGone(_why(error, process, config.runtime, log)) from None
            return ContainerGuest(agent, time.monotonic() - begun, undo.pop_all(), log)


def write_bundle(bundle: Path, netns: Path, cpus: list[int], config: Config) -> None:
    """An OCI bundle (runtime-spec 1.0.2) whose root holds the agent and nothing else."""
    root = bundle / "rootfs"
    for directory in ("proc", "sys", "dev"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    shutil.copy2(agent_binary(), root / "vtax-agent")
    resources: dict[str, object] = {"cpu": {"cpus": ",".join(map(str, cpus))}}
    if config.memory_bytes is not None:
        resources["memory"] = {"limit": config.memory_bytes}
    (bundle / "config.json").write_text(
        json.dumps(
            {
                "ociVersion": "1.0.2",
                "root": {"path": "rootfs", "readonly": True},
                "hostname": "guest",
                "process": {
                    "user": {"uid": 0, "gid": 0},
                    "cwd": "/",
                    "args": ["/vtax-agent"],
                    "env": ["PATH=/"],
                    "noNewPrivileges": True,
                    "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), CAPABILITIES),
                },
                "mounts": [
                    {"destination": "/proc", "type": "proc", "source": "proc"},
                    {
                        "destination": "/sys",
                        "type": "sysfs",
                        "source": "sysfs",
                        "options": ["ro", "nosuid", "noexec"],
                    },
                    {
                        "destination": "/dev",
                        "type": "tmpfs",
                        "source": "tmpfs",
                        "options": ["nosuid", "mode=755"],
                    },
                ],
                "linux": {
                    "namespaces": [
                        *({"type": kind} for kind in ("pid", "ipc", "uts", "mount")),
                        {"type": "network", "path": str(netns)},
                    ],
                    "resources": resources,
                },
            }
        )
    )


def told_version(command: str, package: str) -> str:
    """The first line that `command --version` prints; raises PlatformUnusable when it prints none."""
    remedy = install(package)
    try:
        done = subprocess.run([command, "--version"], check=False, capture_output=True, text=True, timeout=10)
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


def _join(host: Namespace, outside: str, guest: Namespace, inside: str, nic: GuestNic) -> None:
    peer = {"ifname": inside, "net_ns_fd": str(guest.path), "address": nic.mac, "mtu": nic.mtu}
    host.netlink(lambda ip: ip.link("add", ifname=outside, kind="veth", mtu=nic.mtu, peer=peer))
    host.bring_up(outside)


def _part(host: Namespace, outside: str) -> None:
    """Delete a veth pair; left to the end of its namespace, its name would be taken for a while yet."""

    def act(ip: IPRoute) -> None:
        for index in ip.link_lookup(ifname=outside):
            ip.link("del", index=index)

    if host.path.exists():
        host.netlink(act)


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


def _runtime(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise PlatformUnusable(f"no {name} command found", install(name))
    return path
