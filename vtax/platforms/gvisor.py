"""gVisor's runsc: a kernel in a process of the host (the Sentry), with a network stack of its own behind veth pairs.

It takes the NICs over that it finds in the namespace it starts in, as they are set up there, and reads their frames
from packet sockets. So they are set up before, from the outside.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.agent_api import GuestConfigureParams
from vtax.machine.agent import start_agent
from vtax.machine.cpu import threads_of
from vtax.machine.fix import in_tree
from vtax.machine.namespace import Namespace, unmount
from vtax.machine.ownership import Name, Owned, outside, run_removal
from vtax.machine.processes import children, descendants
from vtax.machine.user_namespace import Namespaces
from vtax.platforms.contract import OWN_STACKS, GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.platforms.launch import DIES_WITH_US
from vtax.platforms.oci import write_bundle
from vtax.platforms.package import check_tools
from vtax.platforms.program import OwnProgramConfig, told_version
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.runtime import Container, ContainerGuest, start_container
from vtax.stages.hooks import NicKind

RUNTIME = "runsc"
OWN_STACKS[RUNTIME] = "gvisor"
TOOLS = {"taskset": "util-linux", "setpriv": "util-linux"}
SENTRY = "runsc-sandbox"
"""What the process of a guest's kernel calls itself."""
WRITES_SETTINGS = "CAP_DAC_OVERRIDE"
"""Whether a guest forwards is a file there that nobody may write (0444), only whoever overrides that."""
EMPTY_NAMESPACE = "null-netns"
"""What runsc mounts in its directory, and leaves there."""


class Config(OwnProgramConfig, GuestConfig):
    """Keys of gVisor's guests."""


class Sandbox(Owned, frozen=True, tag="sandbox"):
    """A sandbox of runsc, and the directory that runsc keeps of it."""

    name: Name
    root: str

    def problem(self, state: Path) -> str | None:
        """No other directory is removed."""
        return outside(state, self.root)

    @property
    def needs(self) -> list[Path]:
        """See Owned."""
        return [Path(self.root)]

    def is_there(self) -> bool:
        """See Owned."""
        return Path(self.root).exists()

    def remove(self) -> None:
        """See Owned."""
        with contextlib.suppress(OSError):  # it may be gone, and its directory still there
            run_removal([find_runsc(), "--root", self.root, "delete", "--force", self.name])
        unmount(Path(self.root) / EMPTY_NAMESPACE)
        shutil.rmtree(self.root)


@dataclass
class GvisorGuest(ContainerGuest):
    """A sandbox whose only process is the agent."""

    def threads(self) -> dict[int, tuple[int, str]]:
        """The Sentry (`kernel`), the processes that programs run in (`userspace`), and its helpers (`io`)."""
        found: dict[int, tuple[int, str]] = {}
        for pid in children(self.agent.process.pid):
            component = "kernel" if _command(pid) == SENTRY else "io"
            found |= dict.fromkeys(threads_of(pid), (pid, component))
            for below in descendants(pid):
                found |= dict.fromkeys(threads_of(below), (below, "userspace"))
        return found


class Kind:
    """Platform kind `gvisor`."""

    port = "bridge"
    nic: NicKind = "veth"
    own_kernel = True
    programs_of: ProgramsOf | None = None

    def check(self, config: Config) -> None:
        """The runtime must be there; its network stack sends without queueing disciplines."""
        require_root()
        require_agent()
        config.check_scheduling()
        check_tools(TOOLS)
        find_runsc()
        if config.egress:
            raise PlatformUnusable(
                f"gVisor's network stack has no queueing disciplines, and so no {config.egress_words}",
                "needs egress_qdisc: default, or another platform",
            )

    def known(self, config: Config) -> Probe:
        """What the runtime says."""
        if config.binary is None:
            return Probe("none", {"version": told_version(find_runsc(), RUNTIME)})
        told = told_version(config.binary, RUNTIME, own=RUNTIME)
        if not told.startswith(RUNTIME):
            raise PlatformUnusable(f"{config.binary} is no {RUNTIME}: it says {told}", f"needs a {RUNTIME}")
        return Probe("none", {"version": told})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Ask the runtime for its version."""
        self.check(config)
        return Probe("none", {"runtime": RUNTIME, **self.known(config).facts, **config.facts})

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The Sentry forwards plain IPv4."""
        if protocols:
            raise PlatformUnusable(
                f"gVisor's network stack forwards IPv4 without tags only, not {', '.join(protocols)}",
                "needs another platform",
            )

    def start(self, plan: GuestPlan) -> ContainerGuest:
        """Set up a namespace with one veth pair a NIC, and run the agent in a sandbox that takes it over."""
        assert isinstance(plan.config, Config)  # noqa: S101 - resolved by this kind's own model
        runsc = plan.config.binary or find_runsc()
        root = plan.scratch / f"{plan.name}.sandbox"

        def describe(namespace: Namespace, _owner: Namespaces | None) -> Container:
            set_up(plan, namespace)
            bundle = plan.scratch / plan.name
            write_bundle(bundle, namespace.path, plan.own_cpus, None, beside=[WRITES_SETTINGS])
            return Container(
                f"{RUNTIME} run",
                run=[
                    *DIES_WITH_US,
                    *plan.admission,
                    *("taskset", "--cpu-list", ",".join(map(str, plan.own_cpus))),
                    # Where it runs and what it weighs it has from us, not from cgroups of its own.
                    *(runsc, "--root", str(root), "--ignore-cgroups"),
                    *("run", "--bundle", str(bundle), namespace.name),
                ],
                owned=Sandbox(namespace.name, str(root)),
            )

        return start_container(plan, describe, GvisorGuest)


def find_runsc() -> str:
    """The path of runsc, in PATH or beside this interpreter; raises PlatformUnusable where there is none."""
    places = [os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    path = shutil.which(RUNTIME, path=os.pathsep.join(places))
    if path is None:
        fix = in_tree(RUNTIME) or f"needs gVisor's {RUNTIME} in PATH"
        raise PlatformUnusable(f"no {RUNTIME} command found", fix)
    return path


def set_up(plan: GuestPlan, namespace: Namespace) -> None:
    """Give the NICs in a namespace the addresses, neighbours and routes that its guest shall find; raises AgentGone."""
    if not plan.interfaces:
        return
    log = plan.scratch / f"{plan.name}.setup.log"
    name = f"setup of {plan.name}"
    with contextlib.closing(
        start_agent(name, netns=namespace.path, cpus=list(plan.own_cpus), log=log)
    ) as agent:
        plan.record.add_process(agent.process.pid, name)
        agent.wait_hello(5.0)
        params = GuestConfigureParams(nics=list(plan.interfaces), forward=False)
        agent.api.guest_configure(params, timeout_s=15.0)


def _command(pid: int) -> str:
    """What a process calls itself, empty when it is gone."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    return ""
