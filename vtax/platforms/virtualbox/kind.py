"""Guests of VirtualBox: vtax's disc in a machine without a window, its serial line as a pipe of this machine."""

import contextlib
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from vtax.machine.agent import Agent, AgentGone
from vtax.machine.cpu import threads_of
from vtax.machine.fix import load_module
from vtax.machine.ownership import REMOVAL_LIMIT_S, Name, Owned, remove_quietly, run_removal
from vtax.machine.pidfd import process_start, stop_process
from vtax.platforms.boot_disc import build_disc, check_disc
from vtax.platforms.console import last_words, tail
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe
from vtax.platforms.kernel import fetch_kernel, known_kernel
from vtax.platforms.launch import DIES_WITH_US, await_hello, pin_vcpus
from vtax.platforms.package import check_tools, said
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.serial_line import check_serial_line, connect, socket_line
from vtax.platforms.virtualbox.bridging import bridge_nics
from vtax.platforms.virtualbox.commands import (
    HEADLESS,
    MANAGE,
    NICS,
    Machine,
    creation,
    removal,
    running,
    showing,
)
from vtax.platforms.virtualbox.config import Config
from vtax.stages.hooks import NicKind

MODULES = ("vboxdrv", "vboxnetflt")
"""Of the kernel: what runs machines, and what bridges their NICs (VirtualBox User Manual, section 2.3.2)."""
LOADED = Path("/sys/module")
NEEDED = "needs VirtualBox 7.0 or later"
OLDEST = (7, 0)
"""The first version whose manual has the options that are used."""
HELLO_TIMEOUT_S = 60.0
LISTENS_WITHIN_S = 15.0
PIECE_S = 0.02
"""How often a pipe is looked for."""
COMMAND_LIMIT_S = 60
EMT = "EMT"
"""What VirtualBox calls the thread of a virtual CPU, with a hyphen and its number behind."""


@dataclass
class VirtualBoxGuest:
    """A machine that runs."""

    agent: Agent
    hello_s: float
    modules: Sequence[str]
    hypervisor: "subprocess.Popen[bytes]"
    undo: contextlib.ExitStack
    """What takes down all that starting it has made, newest first."""
    console: Path
    logs: Sequence[Path]

    def threads(self) -> dict[int, tuple[int, str]]:
        """Those of its virtual CPUs, the rest as `emulator`."""
        pid = self.hypervisor.pid
        return {tid: (pid, _component(name)) for tid, name in threads_of(pid).items()}

    def last_words(self) -> str:
        """What its kernel said, and what stands in the logs."""
        words = [last_words(self.console), *(tail(log) for log in self.logs)]
        return "\n".join(word for word in words if word)

    def stop(self) -> None:
        """End the machine and remove it, and its interfaces."""
        self.undo.close()


class VirtualBoxMachine(Owned, frozen=True, tag="VirtualBox machine"):
    """A machine that VirtualBox knows."""

    name: Name
    uuid: Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]

    def is_there(self) -> bool:
        """See Owned."""
        done = subprocess.run(showing(self.uuid), check=False, capture_output=True, timeout=REMOVAL_LIMIT_S)
        return done.returncode == 0

    def remove(self) -> None:
        """Remove it; it is locked until its last process has ended."""
        deadline = time.monotonic() + REMOVAL_LIMIT_S
        while True:
            try:
                run_removal(removal(self.uuid))
                return
            except OSError:
                if not self.is_there():
                    return
                if time.monotonic() > deadline:
                    raise
                time.sleep(PIECE_S)


def _component(thread: str) -> str:
    name, _, number = thread.partition("-")
    return f"vcpu {number or 0}" if name == EMT else "emulator"


class Kind:
    """Platform kind `virtualbox`."""

    port = "bridge"
    nic: NicKind = "veth"
    own_kernel = True
    programs_of = None

    def check(self, config: Config) -> None:
        """VirtualBox, what makes discs and reaches serial lines must be there."""
        require_root()
        require_agent()
        for command in (MANAGE, HEADLESS):
            if shutil.which(command) is None:
                raise PlatformUnusable(f"no {command} command found", f"{NEEDED}, which Debian has not")
        for module in MODULES:
            if not (LOADED / module).exists():
                raise PlatformUnusable(f"VirtualBox's module {module} is not loaded", load_module(module))
        _told()
        config.check_scheduling()
        check_tools({"taskset": "util-linux"})
        check_disc()
        check_serial_line()

    def known(self, config: Config) -> Probe:
        """The versions of VirtualBox and of the guest's kernel."""
        kernel = known_kernel()
        return Probe("virtualbox", {"version": _told()[0], **({"guest_kernel": kernel} if kernel else {})})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Build the guest's disc."""
        self.check(config)
        kernel = fetch_kernel()
        build_disc(kernel, config.modules)
        known = {"version": _told()[0], "guest_kernel": kernel.version}
        return Probe("virtualbox", {**known, **config.facts})

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The guest's kernel must have the modules, unless they are built in."""
        for module in protocols:
            fetch_kernel().load_order(module)

    def start(self, plan: GuestPlan) -> VirtualBoxGuest:
        """Make the machine and its interfaces, run it, connect to its serial line and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        if len(plan.nics) > NICS:
            raise PlatformUnusable(
                f"a machine of VirtualBox has no {len(plan.nics)} NICs", f"needs at most {NICS}"
            )
        modules = (*config.modules, *plan.protocols)
        disc = build_disc(fetch_kernel(), modules)
        begun = time.monotonic()
        with contextlib.ExitStack() as undo:
            machine = _create(plan, config, disc, undo)
            log, errors = (plan.scratch / f"{plan.name}.{kind}" for kind in ("hypervisor", "log"))
            hypervisor = _run(plan, machine, log, undo)
            _await_line(plan, machine, hypervisor, log)
            agent = connect(plan.name, socket_line(machine.line), errors, LISTENS_WITHIN_S)
            undo.callback(agent.close)
            guest = VirtualBoxGuest(
                agent, 0.0, modules, hypervisor, undo.pop_all(), machine.console, (log, errors)
            )
        await_hello(guest, plan, begun, HELLO_TIMEOUT_S)
        pin_vcpus(guest.threads(), plan.pinned)
        return guest


def _told() -> tuple[str, tuple[int, int]]:
    """VirtualBox's version, in words and in numbers; raises PlatformUnusable for one that is too old."""
    try:
        done = subprocess.run([MANAGE, "--version"], check=True, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        raise PlatformUnusable(f"{MANAGE} --version: {said(error)}", NEEDED) from None
    found = re.search(r"^((\d+)\.(\d+)\S*)$", done.stdout, re.MULTILINE)  # warnings may stand before it
    if found is None:
        raise PlatformUnusable(f"{MANAGE} --version tells none", NEEDED)
    numbers = int(found[2]), int(found[3])
    if numbers < OLDEST:
        raise PlatformUnusable(f"VirtualBox {found[1]} has other options", NEEDED)
    return found[1], numbers


def _create(plan: GuestPlan, config: Config, disc: Path, undo: contextlib.ExitStack) -> Machine:
    """Make the interfaces, and the machine beneath the run's directory; raises AgentGone."""
    directory = plan.scratch / f"{plan.name}.virtualbox"
    directory.mkdir(exist_ok=True)
    machine = Machine(
        name=f"{plan.record.run}-{plan.name}",
        uuid=str(uuid.uuid4()),
        directory=directory,
        disc=disc,
        line=directory / "line",
        console=directory / "console",
        nics=bridge_nics(plan, undo),
        nic_model=config.nic_model,
        vcpus=config.vcpus,
        memory_bytes=config.memory_bytes,
    )
    owned = VirtualBoxMachine(machine.name, machine.uuid)
    plan.record.add(owned)
    undo.callback(remove_quietly, owned)
    for command in creation(machine, _told()[1]):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMMAND_LIMIT_S)
        except subprocess.SubprocessError as error:
            raise AgentGone(f"{plan.name}: {MANAGE} {command[1]}: {said(error)}") from None
    return machine


def _run(
    plan: GuestPlan, machine: Machine, log: Path, undo: contextlib.ExitStack
) -> "subprocess.Popen[bytes]":
    """Start the machine in the foreground; it ends with this process."""
    cpus = ",".join(map(str, plan.cpus))
    command = [*DIES_WITH_US, *plan.admission, "taskset", "--cpu-list", cpus, *running(machine)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, process_group=0
        )
    undo.callback(process.wait)
    undo.callback(stop_process, process.pid, process_start(process.pid))
    plan.record.add_process(process.pid, f"{plan.name}'s machine")
    return process


def _await_line(plan: GuestPlan, machine: Machine, hypervisor: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until the machine has its serial line's pipe; raises AgentGone where it ends before."""
    deadline = time.monotonic() + LISTENS_WITHIN_S
    while not machine.line.exists():
        with contextlib.suppress(subprocess.TimeoutExpired):
            hypervisor.wait(PIECE_S)
        if hypervisor.poll() is not None or time.monotonic() > deadline:
            ended = "ended" if hypervisor.poll() is not None else "made no pipe"
            raise AgentGone(f"{plan.name}: {HEADLESS} {ended}\n{tail(log)}")
