"""A distribution kernel for guests: the package is downloaded and unpacked into the cache, never installed."""

import lzma
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vtax.platforms.contract import PlatformUnusable

META_PACKAGE = "linux-image-amd64"
"""The full flavour: the cloud flavour lacks e1000 and its kin."""


def cache_directory() -> Path:
    """VTAX_CACHE, else /var/cache/vtax."""
    return Path(os.environ.get("VTAX_CACHE", "/var/cache/vtax"))


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

    def load_order(self, module: str) -> list[Path]:
        """Files to insert for `module`, what it needs first; none for one that is built in."""
        command = ["modprobe", "-d", str(self.root), "-S", self.version, "--show-depends", module]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
        if done.returncode != 0:
            raise PlatformUnusable(
                f"kernel {self.version} has no module {module}", "choose another nic_model"
            )
        return [Path(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("insmod ")]


def check_tools() -> None:
    """Raise PlatformUnusable when a command that unpacks kernels is missing."""
    for command, package in (
        ("apt-get", "apt"),
        ("dpkg-deb", "dpkg"),
        ("modprobe", "kmod"),
        ("depmod", "kmod"),
    ):
        if shutil.which(command) is None:
            raise PlatformUnusable(f"no {command} command found", f"apt-get install {package}")


@cache
def fetch_kernel() -> Kernel:
    """The newest kernel package, from the cache or from the package archive; looked up once a run."""
    check_tools()
    package = _newest_package()
    if package is None:
        cached = sorted((cache_directory() / "kernel").glob("linux-image-*/vmlinux"))
        if not cached:
            raise PlatformUnusable(f"no {META_PACKAGE} package is known", "apt-get update")
        package = cached[-1].parent.name
    root = cache_directory() / "kernel" / package
    if not (root / "vmlinux").exists():
        _unpack(package, root)
    (modules,) = (root / "lib/modules").iterdir()
    return Kernel(modules.name, package, root)


def _newest_package() -> str | None:
    done = subprocess.run(
        ["apt-cache", "depends", META_PACKAGE], check=False, capture_output=True, text=True, timeout=60
    )
    found = re.search(r"Depends: (linux-image-\S+)", done.stdout)
    return found.group(1) if found else None


def _unpack(package: str, root: Path) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
        work = Path(scratch)
        work.chmod(0o755)
        done = subprocess.run(
            ["apt-get", "download", package],
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
            cwd=work,
        )
        archives = list(work.glob("*.deb"))
        if done.returncode != 0 or not archives:
            raise PlatformUnusable(
                f"downloading {package} failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}",
                f"apt-get update && apt-get download {package}",
            )
        tree = work / "tree"
        subprocess.run(["dpkg-deb", "-x", str(archives[0]), str(tree)], check=True, timeout=300)
        (image,) = (tree / "boot").glob("vmlinuz-*")
        version = image.name.removeprefix("vmlinuz-")
        subprocess.run(["depmod", "-b", str(tree), version], check=True, timeout=300)
        (tree / "vmlinux").write_bytes(extract_vmlinux(image.read_bytes()))
        tree.rename(root)


def extract_vmlinux(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage (Linux Documentation/arch/x86/boot.rst); raises PlatformUnusable."""
    for magic, decompress in DECOMPRESSORS:
        at = image.find(magic)
        while at != -1:
            try:
                kernel = decompress(image[at:])
            except (lzma.LZMAError, zlib.error):
                kernel = b""
            if kernel.startswith(b"\x7fELF"):
                return kernel
            at = image.find(magic, at + 1)
    raise PlatformUnusable(
        "the kernel image is compressed in an unknown way", "use a kernel compressed with xz or gzip"
    )


def _unxz(data: bytes) -> bytes:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(data)


def _gunzip(data: bytes) -> bytes:
    return zlib.decompressobj(wbits=31).decompress(data)


DECOMPRESSORS: list[tuple[bytes, Callable[[bytes], bytes]]] = [
    (b"\xfd7zXZ\x00", _unxz),
    (b"\x1f\x8b\x08", _gunzip),
]
