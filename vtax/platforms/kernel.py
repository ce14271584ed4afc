"""A distribution kernel for guests: the package is downloaded and unpacked into the cache, never installed."""

import contextlib
import logging
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vtax.machine.remedy import install
from vtax.platforms.contract import PlatformUnusable

META_PACKAGE = "linux-image-amd64"
"""The full flavour: the cloud flavour lacks e1000 and its kin."""

log = logging.getLogger(__name__)


def cache_directory() -> Path:
    """VTAX_CACHE, else /var/cache/vtax."""
    return Path(os.environ.get("VTAX_CACHE", "/var/cache/vtax"))


@contextlib.contextmanager
def filling_cache() -> Iterator[None]:
    """Raises PlatformUnusable for a cache that is full or may not be written."""
    try:
        yield
    except OSError as error:
        raise PlatformUnusable(
            f"cannot fill the cache: {error}",
            f"free 1 GB in {cache_directory()}, or set VTAX_CACHE to another directory",
        ) from error


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
    for command in ("apt-get", "dpkg-deb"):
        if shutil.which(command) is None:
            raise PlatformUnusable(f"no {command} command found", "needs Debian or a derivative of it")
    for command in ("modprobe", "depmod"):
        if shutil.which(command) is None:
            raise PlatformUnusable(f"no {command} command found", install("kmod"))


@cache
def fetch_kernel() -> Kernel:
    """The newest kernel package that can be had; looked up once a run.

    That is the package archive's, else the newest in the cache; raises PlatformUnusable when there is neither.
    """
    check_tools()
    package, cached = _newest_package(), cached_packages()
    if package is None:
        if not cached:
            raise PlatformUnusable(f"no {META_PACKAGE} package is known", "apt-get update")
        package = cached[-1]
    elif package not in cached:
        try:
            _unpack(package, _root(package))
        except PlatformUnusable as unusable:
            if not cached:
                raise
            log.warning("%s; guests boot %s from the cache", unusable.reason, cached[-1])
            package = cached[-1]
    root = _root(package)
    (modules,) = (root / "lib/modules").iterdir()
    return Kernel(modules.name, package, root)


def cached_packages() -> list[str]:
    """Names of the unpacked kernel packages, oldest version first (6.1.0-9 before 6.1.0-10)."""
    found = (path.parent.name for path in (cache_directory() / "kernel").glob("linux-image-*/vmlinux"))
    return sorted(found, key=_by_version)


def _by_version(name: str) -> list[tuple[int, str]]:
    """A sort key that takes each run of digits as a number."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _root(package: str) -> Path:
    return cache_directory() / "kernel" / package


def _newest_package() -> str | None:
    """What the package lists of this machine name as the newest kernel; None when they know of none."""
    try:
        told = _run("apt-cache", "depends", META_PACKAGE, timeout_s=60)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"Depends: (linux-image-\S+)", told)
    return found.group(1) if found else None


def _unpack(package: str, root: Path) -> None:
    """Download a kernel package and put its tree at `root`, all at once; raises PlatformUnusable."""
    with filling_cache():
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            work = Path(scratch)
            work.chmod(0o755)
            tree = work / "tree"
            archive = _download(package, work)
            try:
                _run("dpkg-deb", "-x", str(archive), str(tree), timeout_s=300)
                (image,) = (tree / "boot").glob("vmlinuz-*")
                _run("depmod", "-b", str(tree), image.name.removeprefix("vmlinuz-"), timeout_s=300)
            except (subprocess.SubprocessError, ValueError) as error:
                raise PlatformUnusable(
                    f"unpacking {package} failed: {_said(error)}", "df -h; apt-get clean"
                ) from error
            (tree / "vmlinux").write_bytes(extract_vmlinux(image.read_bytes()))
            tree.rename(root)


def _download(package: str, work: Path) -> Path:
    try:
        _run("apt-get", "download", package, timeout_s=600, cwd=work)
        (archive,) = work.glob("*.deb")
    except (subprocess.SubprocessError, ValueError) as error:
        raise PlatformUnusable(
            f"downloading {package} failed: {_said(error)}", f"apt-get update && apt-get download {package}"
        ) from error
    return archive


def _run(*command: str, timeout_s: float, cwd: Path | None = None) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s, cwd=cwd)
    return done.stdout


def _said(error: Exception) -> str:
    """The last thing a failed command complained about."""
    lines = (getattr(error, "stderr", None) or "").strip().splitlines()
    return str(lines[-1]) if lines else str(error)


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
