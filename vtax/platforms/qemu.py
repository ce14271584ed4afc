"""QEMU driven directly: a distribution kernel, the agent as its init, one tap a NIC, control on a virtio port."""

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from vtax.machine.agent import Agent, AgentGone
from vtax.machine.cpu import threads_of
from vtax.machine.ownership import process_start, stop_process
from vtax.platforms.accelerator import find_accelerator
from vtax.platforms.console import last_words
from vtax.platforms.container import tail
from vtax.platforms.contract import GuestPlan, Probe
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.platforms.emulator import Emulator, check_emulator, find_emulator
from vtax.platforms.hello import await_hello
from vtax.platforms.image import build_image
from vtax.platforms.kernel import Kernel, check_kernel, fetch_kernel
from vtax.platforms.package import check_tools
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.tap import open_tap, require_tap
from vtax.stages.hooks import NicKind

DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
"""Puts no process in between: an emulator whose controller is killed before it is written down ends as well."""
KERNEL_PARAMETERS = "console=ttyS0 loglevel=4 panic=-1 tsc=reliable random.trust_cpu=on"
HELLO_TIMEOUT_S = 30.0
DRIVERS = {"virtio-net-pci": "virtio_net", "rtl8139": "8139cp"}
"""The guest kernel's driver of a NIC model, where the two names differ."""


class Config(GuestConfig):
    """Keys of QEMU guests."""

    nic_model: Literal["virtio-net-pci", "vmxnet3", "e1000", "e1000e", "rtl8139"] = Field(
        "virtio-net-pci", description="the NIC's name in QEMU"
    )
    version: Literal["installed", "backports"] = Field(
        "installed", description="the installed QEMU, or that of Debian's backports, fetched into the cache"
    )
    kernel: Literal["distribution", "backports"] = Field(
        "distribution", description="the guest's: Debian's, or that of its backports, fetched into the cache"
    )
    vcpus: int = Field(1, ge=1, le=16)
    memory_bytes: int = Field(256 << 20, ge=128 << 20, le=64 << 30)
    accelerator: Literal["auto", "kvm", "emulated"] = Field(
        "auto", description="auto boots a guest under KVM to find out"
    )

    @property
    def pinned_vcpus(self) -> int:
        """All of the guest's."""
        return self.vcpus if self.pinned else 0

    @property
    def driver(self) -> str:
        """The module that drives the NICs in the guest."""
        return DRIVERS.get(self.nic_model, self.nic_model)

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules that the guest's network needs."""
        return (self.driver, *self.qdisc_modules)


@dataclass
class QemuGuest:
    """A running emulator; its stdin and stdout are the guest's virtio port."""

    agent: Agent
    hello_s: float
    modules: Sequence[str]
    pid: int
    started: int
    console: Path
    errors: Path

    def threads(self) -> dict[int, tuple[int, str]]:
        """Those of the emulator."""
        return emulator_threads(self.pid)

    def pin(self, cpus: Sequence[int]) -> None:
        """Give each virtual CPU one of `cpus`, the first to the first; the emulator's other threads float on."""
        for tid, (_, component) in self.threads().items():
            kind, _, number = component.partition(" ")
            if cpus and kind == "vcpu":
                with contextlib.suppress(ProcessLookupError):  # the guest has ended: whoever asks it will see
                    os.sched_setaffinity(tid, [cpus[int(number)]])

    def last_words(self) -> str:
        """The console's last lines, after what the emulator itself complained about."""
        return "\n".join(filter(None, (tail(self.errors), last_words(self.console))))

    def stop(self) -> None:
        """End the emulator; its taps go with their descriptors."""
        stop_process(self.pid, self.started)
        self.agent.close()


class Kind:
    """Platform kind `qemu`."""

    port = "bridge"
    nic: NicKind = "tap"
    own_kernel = True
    has_programs = False

    def check(self, config: Config) -> None:
        """The emulator, what starts it, taps and the tools that unpack a kernel must be there."""
        require_root()
        require_agent()
        config.check_scheduling()
        check_emulator(config.version)
        check_tools({"setpriv": "util-linux", "taskset": "util-linux"})
        require_tap()
        check_kernel(config.kernel)

    def prepare(self, config: Config) -> Probe:
        """Unpack the guest's kernel, build its image, and find out which accelerator runs it."""
        self.check(config)
        kernel = fetch_kernel(config.kernel)
        image = build_image(kernel, config.modules)
        emulator = find_emulator(config.version)
        accelerator: str = config.accelerator
        if accelerator == "auto":
            accelerator = tried_accelerator(emulator, kernel, image)
        facts = {"version": emulator.version, "guest_kernel": kernel.version, "nic_model": config.nic_model}
        return Probe(accelerator, facts | config.facts)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The guest's kernel must have the modules, unless they are built in."""
        for module in protocols:
            fetch_kernel(config.kernel).load_order(module)

    def start(self, plan: GuestPlan) -> QemuGuest:
        """Open the taps, attach them to their ports, start the emulator and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        probe = self.prepare(config)
        kernel, emulator = fetch_kernel(config.kernel), find_emulator(config.version)
        modules = (*config.modules, *plan.protocols)
        taps: list[int] = []
        devices: list[str] = []
        try:
            for number, nic in enumerate(plan.nics):
                name = f"{plan.name}p{number}"
                taps.append(open_tap(plan.host, name, nic.mtu))
                nic.port.attach(name, nic.mac)
                devices += ["-netdev", f"tap,id=n{number},fd={taps[-1]},vhost=off"]
                devices += ["-device", f"{config.nic_model},netdev=n{number},mac={nic.mac},romfile="]
            console = plan.scratch / f"{plan.name}.console"
            command = [
                *DIES_WITH_US,
                *plan.admission,
                *("taskset", "--cpu-list", ",".join(map(str, plan.cpus))),
                *_command(emulator, kernel, build_image(kernel, modules), probe.accelerator, console),
                *("-smp", str(config.vcpus), "-m", str(config.memory_bytes >> 20)),
                *devices,
            ]
            errors = plan.scratch / f"{plan.name}.log"
            begun = time.monotonic()
            with errors.open("wb") as log:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    pass_fds=taps,
                    process_group=0,
                )
        finally:
            for tap in taps:
                os.close(tap)
        agent = Agent(plan.name, process)
        guest = QemuGuest(agent, 0.0, modules, process.pid, process_start(process.pid), console, errors)
        await_hello(guest, plan, begun, HELLO_TIMEOUT_S)
        guest.pin(plan.pinned)
        return guest


def emulator_threads(pid: int) -> dict[int, tuple[int, str]]:
    """Threads of an emulator: vCPUs by their name ("CPU 0/TCG", "CPU 0/KVM"), the rest as `emulator`."""
    return {
        tid: (pid, f"vcpu {name.split()[1].split('/')[0]}" if name.startswith("CPU ") else "emulator")
        for tid, name in threads_of(pid).items()
    }


def tried_accelerator(emulator: Emulator, kernel: Kernel, image: Path) -> str:
    """`kvm` where a guest boots under it, else `emulated`; tried once for each emulator and kernel."""
    return find_accelerator(
        f"{emulator.version} {kernel.version}",
        lambda limit_s: _boots_under_kvm(emulator, kernel, image, limit_s),
    )


def _command(emulator: Emulator, kernel: Kernel, image: Path, accelerator: str, console: Path) -> list[str]:
    model = ["-accel", "kvm", "-cpu", "host"] if accelerator == "kvm" else ["-accel", "tcg", "-cpu", "max"]
    return [
        *emulator.command,
        *("-name", "vtax,debug-threads=on"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", *model),
        *("-kernel", str(kernel.vmlinux), "-initrd", str(image)),
        *("-append", KERNEL_PARAMETERS),
        *(
            "-serial",
            f"file:{console}",
            "-device",
            "virtio-serial-pci",
            "-chardev",
            "stdio,id=agent,signal=off",
        ),
        *("-device", "virtserialport,chardev=agent,name=vtax"),
    ]


def _boots_under_kvm(emulator: Emulator, kernel: Kernel, image: Path, limit_s: float) -> bool:
    """Whether a guest without NICs says hello under KVM within `limit_s`."""
    machine = _command(emulator, kernel, image, "kvm", Path(os.devnull))
    command = [*DIES_WITH_US, *machine, "-smp", "1", "-m", "256"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
    )
    agent = Agent("KVM probe", process)
    try:
        agent.wait_hello(limit_s)
    except AgentGone:
        return False
    finally:
        stop_process(process.pid, process_start(process.pid))
        agent.close()
    return True
