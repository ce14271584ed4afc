"""A kernel for guests of a hypervisor, out of its package: the distribution's, or a newer one of its backports."""

import lzma
import struct
import subprocess
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vtax.platforms.backports import check_backports, fetch_backport
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.package import Shelf, check_tools, run_tool, told_by_lists

DISTRIBUTION = "distribution"
META_PACKAGE = "linux-image-amd64"
"""The full flavour: the cloud flavour lacks e1000 and its kin."""
TOOLS = {"apt-get": "apt", "dpkg-deb": "dpkg", "modprobe": "kmod", "depmod": "kmod"}
KERNEL_WORDS = "panic=-1 random.trust_cpu=on cryptomgr.notests"
"""Tell a kernel that vtax starts to end where it panics, to wait for no entropy, and not to test its ciphers."""
NEWEST = r"Depends: (linux-image-\S+)"
"""What the lists say of the meta package."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    version: str
    package: str
    root: Path

    @property
    def vmlinux(self) -> Path:
        """The kernel as an ELF file, which spares the guest its own decompression (7 s to 2.8 s emulated)."""
        return self.root / "vmlinux"

    @property
    def identity(self) -> str:
        """What tells it from every other kernel."""
        return self.version

    def load_order(self, module: str) -> list[Path]:
        """Files to insert for `module`, what it needs first; none for one that is built in."""
        command = ["modprobe", "-d", str(self.root), "-S", self.version, "--show-depends", module]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise PlatformUnusable(
                f"kernel {self.version} has no module {module}", f"needs a {self.package} with it"
            )
        return [Path(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("insmod ")]


def check_kernel(origin: str) -> None:
    """Look whether a kernel can be fetched; raises PlatformUnusable."""
    check_tools(TOOLS)
    if origin != DISTRIBUTION:
        check_backports()


@cache
def fetch_kernel(origin: str = DISTRIBUTION) -> Kernel:
    """The newest kernel package of the distribution, or of its backports, that can be had; looked up once a run.

    That is the package archive's, else the newest in the cache; raises PlatformUnusable when there is neither.
    """
    check_kernel(origin)
    if origin == DISTRIBUTION:
        shelf, package = KERNELS, KERNELS.fetch(told_by_lists("depends", META_PACKAGE, pattern=NEWEST))
    else:
        shelf, package = BACKPORTED, fetch_backport(BACKPORTED, _newest)
    root = shelf.root(package)
    (modules,) = (root / "lib/modules").iterdir()
    return Kernel(modules.name, package, root)


def known_kernel(origin: str = DISTRIBUTION) -> str | None:
    """The version of the newest kernel in the cache; None where there is none."""
    shelf = KERNELS if origin == DISTRIBUTION else BACKPORTED
    cached = shelf.cached()
    return next((shelf.root(cached[-1]) / "lib/modules").iterdir()).name if cached else None


def _newest(suite: str, options: Sequence[str]) -> list[str]:
    """The newest kernel of a suite; raises LookupError where it has none."""
    newest = told_by_lists(*options, "--target-release", suite, "depends", META_PACKAGE, pattern=NEWEST)
    if newest is None:
        raise LookupError("its package lists name no kernel")
    return [newest]


def _finish(tree: Path) -> None:
    """List what modules depend on, and take the kernel out of its boot image."""
    (image,) = (tree / "boot").glob("vmlinuz-*")
    run_tool("depmod", "-b", str(tree), image.name.removeprefix("vmlinuz-"), timeout_s=300)
    vmlinux = tree / "vmlinux"
    vmlinux.write_bytes(extract_vmlinux(image.read_bytes()))
    vmlinux.chmod(0o644)  # an emulator that reads it is another user


KERNELS = Shelf("kernel", META_PACKAGE, "vmlinux", _finish)
BACKPORTED = Shelf("kernel-backports", META_PACKAGE, "vmlinux", _finish)
"""Apart from the distribution's, which the newest of its own shelf stands in for."""


def extract_vmlinux(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage; raises PlatformUnusable."""
    payload = _payload(image)
    for magic, decompress in DECOMPRESSORS.items():
        if payload.startswith(magic):
            try:
                kernel = decompress(payload)
            except (lzma.LZMAError, zlib.error, OSError):
                break
            if kernel.startswith(b"\x7fELF"):
                return kernel
    raise PlatformUnusable(
        "the kernel image is compressed in an unknown way", "needs a kernel compressed with xz, zstd or gzip"
    )


def _payload(image: bytes) -> bytes:
    """The compressed kernel, as the header of its image points to it (Linux Documentation/arch/x86/boot.rst)."""
    if len(image) < HEADER_BYTES or not image.startswith(b"HdrS", 0x202):
        return b""
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = 512 * (1 + (image[0x1F1] or 4)) + offset
    return image[start : start + length]


def _unxz(data: bytes) -> bytes:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(data)


def _unzstd(data: bytes) -> bytes:
    import pyarrow as pa  # of results else; a host takes part without it

    size = int.from_bytes(data[-4:], "little")
    try:
        kernel: bytes = pa.decompress(data[:-4], size, codec="zstd", asbytes=True)
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
    return kernel


def _gunzip(data: bytes) -> bytes:
    return zlib.decompressobj(wbits=31).decompress(data)


HEADER_BYTES = 0x250
DECOMPRESSORS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\xfd7zXZ\x00": _unxz,
    b"\x28\xb5\x2f\xfd": _unzstd,
    b"\x1f\x8b\x08": _gunzip,
}
"""By what a payload begins with. The kernel's build has every payload end in its unpacked size."""
