"""QEMU driven directly: a distribution kernel, the agent as its init, one tap a NIC, control on a virtio port."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.agent import Agent, AgentGone
from vtax.machine.cpu import threads_of
from vtax.machine.emulation import patience
from vtax.machine.fix import load_module
from vtax.machine.pidfd import process_start, stop_process
from vtax.machine.user_namespace import IdRange
from vtax.platforms.accelerator import find_accelerator, has_device, remembered_accelerators
from vtax.platforms.cache import cache_directory
from vtax.platforms.console import last_words, tail
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.emulator import (
    INSTALLED,
    Emulator,
    check_emulator,
    find_emulator,
    known_emulator,
    own_emulator,
)
from vtax.platforms.emulator import PACKAGES as EMULATORS
from vtax.platforms.image import CONTROL_MODULES, build_image
from vtax.platforms.kernel import Kernel, check_kernel, fetch_kernel, known_kernel
from vtax.platforms.launch import DIES_WITH_US, await_hello, launch, pin_vcpus
from vtax.platforms.own_kernel import (
    OwnKernel,
    image_version,
    naming_needs,
    own_kernel,
    require_nics,
    with_initrd,
)
from vtax.platforms.package import check_tools, require_open
from vtax.platforms.qemu_config import Config
from vtax.platforms.qemu_machine import NicEnd, SocketEnd, TapEnd, machine_words, nic_words
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.tap import open_taps, require_tap
from vtax.platforms.unprivileged import SANDBOX, as_user, handed_over
from vtax.platforms.userland import fetch_userland
from vtax.platforms.vhost_user import UserSwitch, check_switch, dpdk_version, start_switch
from vtax.stages.hooks import NicKind

HELLO_TIMEOUT_S = 60.0
VHOST = Path("/dev/vhost-net")
CONTROL = {"q35": ("virtio_pci", "virtio_console"), "microvm": ("virtio_mmio", "virtio_console")}
"""What a machine's control stream needs; a kernel of the user's own may lack the other's."""
NEEDS_KVM = "needs a CPU whose virtualization is for this machine to use; presets qemu-* emulate it elsewhere"


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
    switch: UserSwitch | None = None
    """Who moves its frames where the emulator does not."""

    def threads(self) -> dict[int, tuple[int, str]]:
        """Those of the emulator, and `switch`."""
        return emulator_threads(self.pid) | (self.switch.threads() if self.switch else {})

    def last_words(self) -> str:
        """The console's last lines, after what the emulator itself complained about."""
        of_switch = self.switch.last_words() if self.switch else ""
        return "\n".join(filter(None, (of_switch, tail(self.errors), last_words(self.console))))

    def stop(self) -> None:
        """End the emulator, and the switch; taps go with their descriptors."""
        stop_process(self.pid, self.started)
        self.agent.close()
        if self.switch:
            self.switch.stop()


class Kind:
    """Platform kind `qemu`."""

    port = "bridge"
    nic: NicKind = "tap"
    own_kernel = True
    programs_of: ProgramsOf = "packages"

    def check(self, config: Config) -> None:
        """The emulator, what starts it, taps and the tools that unpack a kernel must be there."""
        require_root()
        require_agent()
        config.check_combination()
        config.check_scheduling()
        if config.binary is None:
            check_emulator(config.version)
        check_tools({"setpriv": "util-linux", "taskset": "util-linux"})
        self._check_kvm(config)
        BACKENDS[config.backend]()
        if "kernel" not in config.own_files:
            check_kernel(config.kernel)

    def _check_kvm(self, config: Config) -> None:
        """Raise PlatformUnusable where keys ask for KVM and nothing less, and no guest can have it."""
        if config.accelerator != "kvm":
            return
        if not has_device():
            raise PlatformUnusable("no /dev/kvm to read and write", NEEDS_KVM)
        emulator = own.identity if (own := _own_emulator(config)) else known_emulator(config.version)
        if known_accelerator(emulator, _known_kernel(config), config.machine) == "emulated":
            raise _no_kvm()

    def known(self, config: Config) -> Probe:
        """The emulator's and the cached kernel's versions, and which accelerator an earlier run has found."""
        version, kernel = known_emulator(config.version), _known_kernel(config)
        versions = {"QEMU": version, "guest_kernel": kernel}
        if config.backend == "vhost-user":
            versions["dpdk"] = dpdk_version()
        found = known_accelerator(version, kernel, config.machine)
        accelerator = "emulated" if config.accelerator == "emulated" else found
        return Probe(accelerator or "not probed", {name: told for name, told in versions.items() if told})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Unpack the guest's kernel, build its image, and find out which accelerator runs it."""
        self.check(config)
        kernel = _kernel(config)
        image = build_image(kernel, config.modules, control=_control(kernel, config))
        emulator = _emulator(config)
        if config.confined and config.binary is None and config.version != INSTALLED:
            require_open(cache_directory() / EMULATORS.name, "users other than root")
        accelerator: str = config.accelerator
        if accelerator != "emulated":
            accelerator = tried_accelerator(emulator, kernel, image, config.machine)
            if config.accelerator == "kvm" and accelerator == "emulated":
                raise _no_kvm()
        facts = {"version": emulator.version, "guest_kernel": kernel.version, **config.facts}
        if config.binary is not None:
            facts["firmware"] = emulator.firmware
        if config.backend == "vhost-user":
            facts["dpdk"] = dpdk_version()
        return Probe(accelerator, facts | fetch_userland(packages).facts)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The guest's kernel must have the modules, unless they are built in."""
        for module in protocols:
            _kernel(config).load_order(module)

    def start(self, plan: GuestPlan) -> QemuGuest:
        """Open the taps, attach them to their ports, start the emulator and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        probe = self.prepare(config, plan.packages)
        userland = fetch_userland(plan.packages)
        kernel, emulator = _kernel(config), _emulator(config)
        modules = (*config.modules, *plan.protocols)
        console, errors = plan.scratch / f"{plan.name}.console", plan.scratch / f"{plan.name}.log"
        image = build_image(kernel, modules, userland, _control(kernel, config))
        beside_bytes = userland.memory_bytes + config.initrd_memory_bytes
        whole = config.model_copy(update={"memory_bytes": config.memory_bytes + beside_bytes})
        machine = machine_words(emulator, kernel, image, probe.accelerator, console, whole)
        user = IdRange.of(f"{plan.record.run}-{plan.name}").first if config.confined else None
        with (
            _nic_ends(plan, config, user) as (ends, switch),
            _emulator_words(machine, user, probe.accelerator) as (words, files),
        ):
            nics = enumerate(zip(plan.nics, ends, strict=True))
            command = [
                *DIES_WITH_US,
                *plan.admission,
                *("taskset", "--cpu-list", ",".join(map(str, plan.cpus))),
                *words,
                *(word for number, (nic, end) in nics for word in nic_words(config, number, nic, end)),
            ]
            begun = time.monotonic()
            descriptors = [each for end in ends for each in end.descriptors]
            agent = launch(plan.name, command, errors, [*files, *descriptors])
        started = process_start(agent.process.pid)
        guest = QemuGuest(agent, 0.0, modules, agent.process.pid, started, console, errors, switch)
        with naming_needs(kernel, (*CONTROL[config.machine], *config.modules)):
            await_hello(guest, plan, begun, patience(HELLO_TIMEOUT_S))
        require_nics(kernel, config.driver, kernel.load_order(config.driver), guest, plan)
        pin_vcpus(guest.threads(), plan.pinned)
        return guest


def _no_kvm() -> PlatformUnusable:
    return PlatformUnusable("KVM did not boot a guest here", NEEDS_KVM)


def _kernel(config: Config) -> Kernel | OwnKernel:
    """The kernel that keys ask for."""
    if (path := config.own_files.get("kernel")) is not None:
        return own_kernel(path, image_version(path), config.initrd)
    return with_initrd(fetch_kernel(config.kernel), config.initrd)


def _control(kernel: Kernel | OwnKernel, config: Config) -> tuple[str, ...]:
    """The modules of the control stream: of a package's kernel those of all machines, so that these share an image."""
    return CONTROL[config.machine] if isinstance(kernel, OwnKernel) else CONTROL_MODULES


def _known_kernel(config: Config) -> str | None:
    """What tells it from every other kernel, where nothing has to be fetched to know it."""
    if "kernel" in config.own_files:
        return _kernel(config).identity
    return None if config.initrd is not None else known_kernel(config.kernel)


def _emulator(config: Config) -> Emulator:
    """The emulator that keys ask for."""
    return _own_emulator(config) or find_emulator(config.version)


def _own_emulator(config: Config) -> Emulator | None:
    """The user's own emulator; None where keys name none."""
    return None if config.binary is None else own_emulator(config.binary)


def emulator_threads(pid: int) -> dict[int, tuple[int, str]]:
    """Threads of an emulator: vCPUs by their name ("CPU 0/TCG", "CPU 0/KVM"), the rest as `emulator`."""
    return {
        tid: (pid, f"vcpu {name.split()[1].split('/')[0]}" if name.startswith("CPU ") else "emulator")
        for tid, name in threads_of(pid).items()
    }


def tried_accelerator(
    emulator: Emulator, kernel: Kernel | OwnKernel, image: Path, machine: str = "q35"
) -> str:
    """`kvm` where a guest boots under it, else `emulated`; tried once for each emulator, kernel and machine."""
    return find_accelerator(
        _boot_key(emulator.identity, kernel.identity, machine),
        lambda limit_s: _boots_under_kvm(emulator, kernel, image, machine, limit_s),
    )


def known_accelerator(emulator: str | None, kernel: str | None, machine: str = "q35") -> str | None:
    """What an earlier run has found of these versions; None where none has tried."""
    return remembered_accelerators().get(_boot_key(emulator, kernel, machine))


def _boot_key(emulator: str | None, kernel: str | None, machine: str) -> str:
    """What the answer to whether a guest boots under KVM depends on."""
    return f"{emulator} {kernel}" if machine == "q35" else f"{emulator} {kernel} {machine}"


@contextlib.contextmanager
def _nic_ends(
    plan: GuestPlan, config: Config, user: int | None
) -> Iterator[tuple[Sequence[NicEnd], UserSwitch | None]]:
    """What each NIC of a guest is connected with on the host, for whoever starts the emulator meanwhile, as `user`."""
    if config.backend != "vhost-user":
        with (
            open_taps(plan, headers=config.offloads == "all", queues=config.queues) as taps,
            contextlib.ExitStack() as opened,
        ):
            yield [TapEnd(tap, _open_vhost(config, opened)) for tap in taps], None
        return
    switch = start_switch(plan, config.queues, confined=config.confined)
    with contextlib.ExitStack() as opened:
        try:
            sockets = [switch.socket(number) for number in range(len(plan.nics))]
            yield [_socket_end(socket, user, opened) for socket in sockets], switch
        except BaseException:
            switch.stop()
            raise


def _open_vhost(config: Config, opened: contextlib.ExitStack) -> list[int]:
    """A descriptor of vhost-net for each queue of a NIC, none where the emulator serves the tap itself."""
    descriptors = []
    for _ in range(config.queues if config.backend == "vhost" else 0):
        descriptors.append(os.open(VHOST, os.O_RDWR))
        opened.callback(os.close, descriptors[-1])
    return descriptors


def _socket_end(socket: Path, user: int | None, opened: contextlib.ExitStack) -> SocketEnd:
    """A switch's socket, which becomes the emulator's user's: only its owner can connect."""
    directory = os.open(socket.parent, os.O_PATH | os.O_DIRECTORY)
    opened.callback(os.close, directory)
    if user is not None:
        os.chown(socket.name, user, user, dir_fd=directory, follow_symlinks=False)
    return SocketEnd(directory, socket.name)


@contextlib.contextmanager
def _emulator_words(
    machine: Sequence[str], user: int | None, accelerator: str
) -> Iterator[tuple[list[str], list[int]]]:
    """An emulator's command without NICs, and the descriptors that it needs: as root, or confined as a user."""
    with handed_over(machine) as (words, descriptors):
        if user is None:
            yield words, descriptors
        else:
            yield [*as_user(user, kvm=accelerator == "kvm"), *words, *SANDBOX], descriptors


def _require_vhost() -> None:
    """Taps that the host's kernel serves."""
    require_tap()
    if not VHOST.exists():
        raise PlatformUnusable(f"no {VHOST}", load_module("vhost_net"))


BACKENDS: dict[str, Callable[[], None]] = {
    "tap": require_tap,
    "vhost": _require_vhost,
    "vhost-user": check_switch,
}
"""What looks whether a back end can be had."""


def _boots_under_kvm(
    emulator: Emulator,
    kernel: Kernel | OwnKernel,
    image: Path,
    machine: str,
    limit_s: float,
) -> bool:
    """Whether a guest without NICs says hello under KVM within `limit_s`."""
    config = Config.model_validate({"machine": machine})
    if isinstance(kernel, OwnKernel) and kernel.initrd is not None:
        memory_bytes = config.memory_bytes + kernel.initrd.memory_bytes
        config = config.model_copy(update={"memory_bytes": memory_bytes})
    asked = machine_words(emulator, kernel, image, "kvm", None, config)
    with _emulator_words(asked, IdRange.of("KVM probe").first, "kvm") as (words, descriptors):
        agent = launch("KVM probe", [*DIES_WITH_US, *words], None, descriptors)
    try:
        agent.wait_hello(limit_s)
    except AgentGone:
        return False
    finally:
        stop_process(agent.process.pid, process_start(agent.process.pid))
        agent.close()
    return True
