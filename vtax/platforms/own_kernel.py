"""A kernel of the user's own for guests: its image is booted as it is, its modules are built in or in an initrd."""

import contextlib
import re
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

from pydantic import Field

from vtax.inputs import one_line
from vtax.inputs.own_file import OwnFile, hash_file
from vtax.machine.agent import AgentGone
from vtax.machine.emulation import patience
from vtax.platforms.contract import Guest, GuestPlan, PlatformConfig, PlatformUnusable
from vtax.platforms.initrd import Initrd, Unpacked, read_initrd

SETUP_MAGIC, SETUP_MAGIC_AT = b"HdrS", 0x202
VERSION_AT, SETUP_AT = 0x20E, 0x200
"""Where a bzImage's header has the place of its version (Linux Documentation/arch/x86/boot.rst)."""
ELF = b"\x7fELF"
BANNER = re.compile(rb"Linux version (\S{1,64}) ")
RELEASE = re.compile(r"\d+\.[\w.+~-]{1,63}")
OPTIONS = ("CONFIG_BLK_DEV_INITRD", "CONFIG_DEVTMPFS")
"""What the agent needs of every kernel to start and to find its control stream."""
NIC_LIMIT_S = 10.0
"""How long a kernel may take to find NICs whose driver is built in, once the agent was heard."""
LOOK_AGAIN_S = 0.1
HEAD_BYTES = 1 << 16
"""What a bzImage's header and version are in."""


class PackagedKernel(Protocol):
    """A kernel of a package, with its modules."""

    @property
    def version(self) -> str:
        """Its release."""

    @property
    def vmlinux(self) -> Path:
        """What is booted."""

    def load_order(self, module: str) -> Sequence[Path]:
        """Files to insert for `module`, what it needs first; none for one that is built in."""


K = TypeVar("K", bound=PackagedKernel)


@dataclass(frozen=True)
class OwnKernel:
    """A kernel of the user's own with an initrd, or a package's with one; without an initrd the former alone."""

    version: str
    vmlinux: Path
    """What is booted."""
    initrd: Initrd | None = None
    package: PackagedKernel | None = None
    """The package whose kernel it is; None for the user's own."""
    sha256: str = ""
    """Of the user's own, whose builds may have one version."""

    @property
    def identity(self) -> str:
        """What tells it, and what is unpacked with it, from every other kernel."""
        parts = self.version, self.sha256, self.initrd.sha256 if self.initrd else ""
        return " ".join(filter(None, parts))

    def load_order(self, module: str) -> Sequence[Path | Unpacked]:
        """Files to insert for `module`, what it needs first; none for one that is built in, or taken for that."""
        if (initrd := self._listing) is not None:
            if (found := initrd.load_order(self.version, module)) is not None:
                return found
            if self.package is None and initrd.names_built_in(self.version):
                raise PlatformUnusable(
                    f"kernel {self.version} has no module {module}, and platform.initrd has none either",
                    "needs a kernel with it built in, or an initrd with it",
                )
        return [] if self.package is None else self.package.load_order(module)

    def unknown(self, modules: Sequence[str]) -> list[str]:
        """Those of the modules that are not at hand to insert, and that nothing says are built in."""
        told = (initrd := self._listing) is not None and initrd.names_built_in(self.version)
        if told or self.package is not None:
            return []
        return [module for module in modules if not self.load_order(module)]

    @property
    def _listing(self) -> Initrd | None:
        """The initrd where it has modules of this kernel."""
        return self.initrd if self.initrd is not None and self.version in self.initrd.modules else None


class OwnInitrdConfig(PlatformConfig):
    """Keys of guests whose kernel unpacks an initramfs of vtax's."""

    initrd: Annotated[str | None, OwnFile("unpacked in guests, ahead of vtax's own")] = Field(
        None,
        description="archives of your own that the guest's kernel unpacks before vtax's, modules among them",
    )

    @property
    def shared_files(self) -> frozenset[str]:
        """The initrd becomes part of an image in the cache, which everybody may read."""
        return super().shared_files | {"initrd"}

    @property
    def initrd_memory_bytes(self) -> int:
        """What the initrd takes of a guest's memory."""
        return 0 if self.initrd is None else read_initrd(self.initrd).memory_bytes


def with_initrd(kernel: K, initrd: str | None) -> K | OwnKernel:
    """A package's kernel, with the initrd at a path where that is one; raises PlatformUnusable."""
    if initrd is None:
        return kernel
    return OwnKernel(kernel.version, kernel.vmlinux, read_initrd(initrd), kernel)


def own_kernel(path: str, version: str, initrd: str | None) -> OwnKernel:
    """The kernel at a path with the initrd at another; raises PlatformUnusable."""
    read = None if initrd is None else read_initrd(initrd)
    if read is not None and read.modules and version not in read.modules:
        there = ", ".join(sorted(read.modules))
        raise PlatformUnusable(
            one_line(f"{initrd} has modules of {there}, and {path} is {version}"),
            f"needs an initrd with lib/modules/{version}",
        )
    return OwnKernel(version, Path(path), read, sha256=hash_file(path) or "")


@contextlib.contextmanager
def naming_needs(kernel: PackagedKernel | OwnKernel, modules: Sequence[str]) -> Iterator[None]:
    """Have a guest that is not heard end with what a kernel of the user's own may lack: AgentGone."""
    try:
        yield
    except AgentGone as error:
        if not isinstance(kernel, OwnKernel) or kernel.package is not None:
            raise
        first, _, rest = str(error).partition("\n")
        needed = ", ".join([*OPTIONS, *kernel.unknown(modules)])
        raise AgentGone(f"{first}; kernel {kernel.version} has to have {needed}\n{rest}".rstrip()) from None


def require_nics(
    kernel: PackagedKernel | OwnKernel,
    driver: str,
    inserted: Collection[object],
    guest: Guest,
    plan: GuestPlan,
) -> None:
    """Look whether a kernel of the user's own found a guest's NICs, unless their driver is still to be `inserted`.

    Ends the guest and raises AgentGone where it has not.
    """
    if not isinstance(kernel, OwnKernel) or kernel.package is not None or inserted:
        return
    try:
        _await_nics(guest, {nic.mac for nic in plan.nics}, f"kernel {kernel.version}", driver)
    except BaseException:
        guest.stop()
        raise


def _await_nics(guest: Guest, wanted: Collection[str], kernel: str, driver: str) -> None:
    deadline = time.monotonic() + patience(NIC_LIMIT_S)
    while not {*wanted} <= {link.mac for link in guest.agent.api.guest_state().interfaces}:
        if time.monotonic() > deadline:
            raise AgentGone(
                f"{kernel} finds no NIC: it has to have {driver} built in, or as a module in platform.initrd"
            )
        time.sleep(LOOK_AGAIN_S)


def image_version(path: str) -> str:
    """Return the version of a kernel's image; raises PlatformUnusable where it is none for x86."""
    with Path(path).open("rb") as image:
        head = image.read(HEAD_BYTES)
        if head.startswith(SETUP_MAGIC, SETUP_MAGIC_AT):
            place = SETUP_AT + int.from_bytes(head[VERSION_AT : VERSION_AT + 2], "little")
            told = head[place : place + 128].split(b"\0")[0].split(b" ")[0].decode(errors="replace")
        elif head.startswith(ELF):
            found = BANNER.search(head + image.read())
            told = found[1].decode(errors="replace") if found else ""
        else:
            told = ""
    if not RELEASE.fullmatch(told):
        raise PlatformUnusable(
            f"{path} is no kernel for x86: neither a bzImage nor an ELF file that states its version",
            "needs the path of arch/x86/boot/bzImage, or of a vmlinux with CONFIG_PVH",
        )
    return one_line(told)
