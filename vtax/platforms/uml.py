"""User-mode Linux: a second kernel as processes of the host, one tap a NIC, control on a serial line.

The guest's kernel is a process, each of its programs another, and helpers stand beside them. They have a process
namespace to themselves and no rights: the namespace ends with the kernel whatever ends that, and a program that is
let go by its kernel can do nothing to the host.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from vtax.inputs.own_file import OwnFile
from vtax.machine.agent import Agent
from vtax.machine.cpu import threads_of
from vtax.machine.fix import build_agent
from vtax.machine.pidfd import process_start, stop_process
from vtax.machine.processes import children
from vtax.machine.state import make_directory
from vtax.platforms.cache import cache_directory, keep_file
from vtax.platforms.console import last_words
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.platforms.image import pack_image
from vtax.platforms.initrd import Unpacked
from vtax.platforms.launch import DIES_WITH_US, OWN_PROCESSES, await_hello, launch
from vtax.platforms.modules import load_order
from vtax.platforms.own_kernel import (
    RELEASE,
    OwnInitrdConfig,
    OwnKernel,
    naming_needs,
    own_kernel,
    require_nics,
    with_initrd,
)
from vtax.platforms.package import KEEP, Shelf, check_tools, require_open, told_by_lists
from vtax.platforms.program import told_version
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.tap import open_taps, require_tap
from vtax.platforms.userland import Userland, fetch_userland
from vtax.stages.hooks import NicKind

PACKAGE = "user-mode-linux"
BINARY = "usr/bin/linux.uml"
REGISTERS = Path(__file__).resolve().parent.parent / "bin/vtax-xstate.so"
"""Without it the kernel starts no program on a CPU with AMX: see agent/uml/xstate.c."""
TOOLS = {
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "unshare": "util-linux",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
FIRST_PROCESS = ("sh", "-c", '"$@"; exit $?', "sh")
"""Waits for the kernel, which cannot be first itself: that one is spared the signals a panicking kernel ends by."""
NOBODY = 65534
WITHOUT_RIGHTS = (
    *("setpriv", "--pdeathsig", "KILL", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"),
    *("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"),
)
MEMORY = Path("/dev/shm")  # noqa: S108 - where the kernel puts its guest's memory by itself, nameless
HELLO_TIMEOUT_S = 15.0
SKIPPED_INITCALL = "raid6_select_algo"
"""It times RAID checksums for 0.9 of the 1.2 seconds that the kernel takes to start; guests have no disks."""
CONTROL, DRIVER = "CONFIG_SSL", "CONFIG_UML_NET_VECTOR"
"""What the control stream and NICs need of a kernel; neither can be a module."""
WINDOW_BYTES = 3072
"""A line that has 3968 bytes to read stops its driver, which never starts again (Linux 6.1)."""


class Config(OwnInitrdConfig, GuestConfig):
    """Keys of user-mode Linux guests."""

    kernel: Annotated[
        str,
        OwnFile(
            "started as nobody, as guests' kernel, and as root for its version",
            words=("distribution",),
            states="guest_kernel",
            executable=True,
        ),
    ] = Field("distribution", description="the guest's: that of Debian's package, or a `linux` of your own")
    memory_bytes: int = Field(128 << 20, ge=64 << 20, le=8 << 30)

    @property
    def shared_files(self) -> frozenset[str]:
        """The user nobody starts the kernel."""
        return super().shared_files | {"kernel"}

    @property
    def refused_switches(self) -> dict[str, str]:
        """The kernel waits for a signal (O_ASYNC) that a frame came, which the device of a macvtap does not send."""
        return {
            "macvtap": "user-mode Linux is told of frames by SIGIO, which the device of a macvtap does not send"
        }


@dataclass
class UmlGuest:
    """A running guest; stdin and stdout of its processes are its first serial line."""

    agent: Agent
    hello_s: float
    pid: int
    """Who waits for the kernel, outside its namespace."""
    console: Path
    modules: Sequence[str] = field(default_factory=list)

    def threads(self) -> dict[int, tuple[int, str]]:
        """The kernel, its programs (`userspace`: traced by the kernel) and its helpers (`io`)."""
        found: dict[int, tuple[int, str]] = {}
        for kernel in self._kernel():
            found |= dict.fromkeys(threads_of(kernel), (kernel, "kernel"))
            for pid in children(kernel):
                component = "userspace" if _tracer(pid) == kernel else "io"
                found |= dict.fromkeys(threads_of(pid), (pid, component))
        return found

    def _kernel(self) -> list[int]:
        """The kernel's process, none when it is gone: the child of its namespace's first one."""
        return [kernel for first in children(self.pid) for kernel in children(first)]

    def last_words(self) -> str:
        """The console's last lines."""
        return last_words(self.console)

    def stop(self) -> None:
        """End the kernel; who waits for it ends when nothing of the guest is left, taps included."""
        for kernel in self._kernel():
            stop_process(kernel, process_start(kernel))
        self.agent.close()


class Kind:
    """Platform kind `uml`."""

    port = "bridge"
    nic: NicKind = "tap"
    own_kernel = True
    programs_of: ProgramsOf = "packages"

    def check(self, config: Config) -> None:
        """What starts the kernel, taps, and room for the guest's memory must be there."""
        require_root()
        require_agent()
        if not REGISTERS.is_file():
            raise PlatformUnusable(f"{REGISTERS} is not built", build_agent())
        config.check_scheduling()
        check_tools(TOOLS)
        require_tap()
        require_open(cache_directory() / PACKAGES.name, "the user nobody")
        if not MEMORY.is_dir() or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
            raise PlatformUnusable(
                f"{MEMORY} is not there or mounted noexec; user-mode Linux has its guest's memory there",
                f"mount -o remount,exec {MEMORY}",
            )

    def known(self, config: Config) -> Probe:
        """The newest package in the cache."""
        cached = PACKAGES.cached()
        return Probe("none", {"version": cached[-1].removeprefix(f"{PACKAGE}=")} if cached else {})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Unpack the kernel and build the guest's image. Native code all through, so no accelerator."""
        self.check(config)
        userland = fetch_userland(packages)
        _require_room(config, userland.memory_bytes + config.initrd_memory_bytes)
        kernel = _kernel(config)
        _image(kernel, config.qdisc_modules, userland)
        facts = {"guest_kernel": kernel.version, "nic_model": "vector tap"}
        if "kernel" not in config.own_files:
            facts = {"version": fetch_uml().name.removeprefix(f"{PACKAGE}="), **facts}
        return Probe("none", facts | config.facts | userland.facts)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """Its kernel's package must have the modules."""
        for module in protocols:
            _files(_kernel(config), module)

    def start(self, plan: GuestPlan) -> UmlGuest:
        """Open the taps, attach them to their ports, start the kernel and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        self.prepare(config, plan.packages)
        userland = fetch_userland(plan.packages)
        directory = plan.scratch / f"{plan.name}.uml"
        make_directory(directory, NOBODY)
        console = plan.scratch / f"{plan.name}.console"
        modules = [*config.qdisc_modules, *plan.protocols]
        with open_taps(plan, headers=False) as taps:
            # A tap takes and gives one frame a call: vec=0, no vectors.
            nics = [
                f"vec{number}:transport=fd,fd={tap},vec=0,mac={nic.mac},mtu={nic.mtu}"
                for number, ((tap,), nic) in enumerate(zip(taps, plan.nics, strict=True))
            ]
            kernel = _kernel(config)
            image = _image(kernel, modules, userland)
            memory_bytes = config.memory_bytes + userland.memory_bytes + config.initrd_memory_bytes
            command = [
                *DIES_WITH_US,
                *plan.admission,
                *("taskset", "--cpu-list", ",".join(map(str, plan.own_cpus))),
                *OWN_PROCESSES,
                *WITHOUT_RIGHTS,
                *FIRST_PROCESS,
                *_command(kernel.vmlinux, image, memory_bytes, directory),
                *nics,
            ]
            environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(_open_registers())}
            begun = time.monotonic()
            descriptors = [descriptor for (descriptor,) in taps]
            agent = launch(plan.name, command, console, descriptors, environment, WINDOW_BYTES)
        guest = UmlGuest(agent, 0.0, agent.process.pid, console, modules)
        with naming_needs(kernel, [CONTROL]):
            await_hello(guest, plan, begun, HELLO_TIMEOUT_S)
        require_nics(kernel, DRIVER, (), guest, plan)
        return guest


USES = {"sctp": ("hmac",)}
"""What a module has its kernel ask modprobe for when it is used: guests have none."""


@cache
def fetch_uml() -> Path:
    """The unpacked tree of the newest package that can be had; looked up once a run. Raises PlatformUnusable."""
    version = told_by_lists("show", "--no-all-versions", PACKAGE, pattern=r"^Version: (\S+)")
    return PACKAGES.root(PACKAGES.fetch(f"{PACKAGE}={version}" if version else None))


def _finish(tree: Path) -> None:
    if not (tree / BINARY).exists():
        raise ValueError(f"it has no {BINARY}")


PACKAGES = Shelf("uml", PACKAGE, BINARY, _finish)


@dataclass(frozen=True)
class UmlKernel:
    """The kernel of an unpacked package."""

    tree: Path

    @property
    def version(self) -> str:
        """Its release."""
        return self._modules.name

    @property
    def vmlinux(self) -> Path:
        """The program that it is."""
        return self.tree / BINARY

    def load_order(self, module: str) -> list[Path]:
        """Files to insert for a module, what it needs first; none for one that is built in."""
        dependencies, built_in = (
            (self._modules / name).read_text() for name in ("modules.dep", "modules.builtin")
        )
        if (order := load_order(dependencies, built_in, module)) is None:
            raise PlatformUnusable(f"{self.tree.name} has no module {module}", f"needs a {PACKAGE} with it")
        return [self._modules / path for path in order]

    @property
    def _modules(self) -> Path:
        (modules,) = (self.tree / "usr/lib/uml/modules").iterdir()
        return modules


def _kernel(config: Config) -> UmlKernel | OwnKernel:
    """The kernel that keys ask for; raises PlatformUnusable."""
    if (path := config.own_files.get("kernel")) is None:
        return with_initrd(UmlKernel(fetch_uml()), config.initrd)
    version = told_version(path, PACKAGE, own="user-mode Linux")
    if not RELEASE.fullmatch(version):
        raise PlatformUnusable(
            f"{path} is no user-mode Linux: it says {version}",
            "needs the path of a `linux` built with ARCH=um",
        )
    return own_kernel(path, version, config.initrd)


def _image(kernel: UmlKernel | OwnKernel, modules: Sequence[str], userland: Userland) -> Path:
    """The guest's initramfs. The drivers are built in; queueing disciplines and protocols are not."""
    lists = {"control": [], **{module: _files(kernel, module) for module in modules}}
    return pack_image(lists, userland, kernel.initrd if isinstance(kernel, OwnKernel) else None)


def _files(kernel: UmlKernel | OwnKernel, name: str) -> list[Path | Unpacked]:
    """Files to insert so that a module can be used."""
    return [path for module in (*USES.get(name, ()), name) for path in kernel.load_order(module)]


def _require_room(config: Config, beside_bytes: int) -> None:
    """Raise PlatformUnusable where a guest's memory does not fit."""
    room = os.statvfs(MEMORY)
    if room.f_bavail * room.f_frsize < config.memory_bytes + beside_bytes:
        beside = f" and {beside_bytes} bytes of programs or an initrd beside it" if beside_bytes else ""
        raise PlatformUnusable(
            f"{MEMORY} has no room for memory_bytes={config.memory_bytes}{beside}",
            f"mount -o remount,size=50% {MEMORY}",
        )


def _open_registers() -> Path:
    """REGISTERS where nobody can read it: the tree that vtax was built in may be closed."""
    library = REGISTERS.read_bytes()
    name = f"registers-{hashlib.sha256(library).hexdigest()[:16]}.so"
    return keep_file(PACKAGES.name, name, lambda path: path.write_bytes(library), KEEP, mode=0o755)


def _command(binary: Path, image: Path, memory_bytes: int, directory: Path) -> list[str]:
    return [
        *(str(binary), f"mem={memory_bytes >> 20}M", f"initrd={image}"),
        *(f"uml_dir={directory}", "umid=guest"),
        *("con=null", "con0=null,fd:2", "console=tty0", "panic=-1", "noreboot"),
        f"initcall_blacklist={SKIPPED_INITCALL}",
        *("ssl=null", "ssl0=fd:0,fd:1", "vtax.control=ttyS0"),
    ]


def _tracer(pid: int) -> int:
    """Who traces a process, 0 for nobody."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(status.partition("TracerPid:")[2].split()[0])
