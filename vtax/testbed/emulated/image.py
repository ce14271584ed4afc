"""The initramfs of an emulated host: Xen's tools, QEMU, Python with vtax in it, and the kernel that its guests boot.

Made of Debian packages that are unpacked and never installed, and of the Python packages beside this vtax. A host has
no network: what its guests need of the cache is in it.
"""

import compileall
import gzip
import hashlib
import importlib.metadata
import py_compile
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import vtax
from vtax.machine.agent import agent_binary
from vtax.platforms import PlatformUnusable
from vtax.platforms.cache import filling_cache, keep_file
from vtax.platforms.cpio import tree_archive
from vtax.platforms.kernel import KERNELS, Kernel
from vtax.platforms.package import run_tool
from vtax.platforms.userland import Userland, fetch_userland

XEN = "4.17"
PACKAGES = (
    f"xen-hypervisor-{XEN}-amd64",
    f"xen-utils-{XEN}",
    "xenstore-utils",
    "qemu-system-x86",
    "iproute2",
    "kmod",
    "mount",
    "util-linux",
    "apt",
    "python3",
)
PYTHON = (3, 11)
"""That of the packages; what is compiled for another cannot be loaded there."""
STANDARD_LIBRARY = Path(f"usr/lib/python{PYTHON[0]}.{PYTHON[1]}")
LIBRARIES = ("typer", "msgspec", "pydantic", "pyroute2", "pyyaml", "defusedxml")
"""What `vtax host` imports, beside all that these need."""
MODULES = (
    *("virtio_pci", "virtio_mmio", "virtio_console", "virtio_net", "e1000"),
    *("tun", "tap", "macvtap", "bridge", "veth", "8021q", "sctp", "vhost_net", "kvm_amd"),
    *("xen_evtchn", "xen_gntdev", "xen_gntalloc", "xen_privcmd", "xenfs", "xen_netback", "xen_netfront"),
    *("sch_ingress", "sch_tbf", "sch_htb", "sch_netem", "cls_bpf", "cls_u32", "act_mirred"),
)
"""Of the host and of its guests, which have the same kernel."""
PACKAGE = Path(vtax.__file__).resolve().parent
INIT = PACKAGE / "data/emulated/init"
OWN = Path("usr/lib/vtax")
"""Where vtax and its libraries are there."""
KEEP = 4
"""Archives kept in the cache: an image and the parts it is made of, and earlier versions."""


@cache
def build_host_image(kernel: Kernel) -> Path:
    """The initramfs of hosts with that kernel; looked up once a run. Raises PlatformUnusable."""
    if sys.version_info[:2] != PYTHON:
        here, there = (".".join(map(str, version[:2])) for version in (sys.version_info, PYTHON))
        raise PlatformUnusable(
            f"this is Python {here}, and that of an emulated host's packages is {there}",
            "needs vtax installed with Debian's python3",
        )
    userland = fetch_host_userland()
    libraries = {name: importlib.metadata.version(name) for name in sorted(_needed(LIBRARIES))}
    below = repr((userland.packages, kernel.package, MODULES, libraries))
    own = [
        f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in (agent_binary(), *_own_files())
    ]
    with filling_cache():
        base = _kept("base", below, lambda tree: _lay_base(tree, kernel, userland))
        return _kept("image", below + repr(own), _lay_own, [userland.archive, base.read_bytes()])


def unpack_hypervisor() -> Path:
    """Xen as an ELF file, which QEMU starts; raises PlatformUnusable."""
    userland = fetch_host_userland()
    assert userland.root is not None  # noqa: S101 - of PACKAGES
    packed = (userland.root / f"boot/xen-{XEN}-amd64.gz").read_bytes()
    name = f"{hashlib.sha256(packed).hexdigest()[:16]}.xen"
    return keep_file("host", name, lambda path: path.write_bytes(gzip.decompress(packed)), KEEP)


@cache
def fetch_host_userland() -> Userland:
    """The packages of emulated hosts, Xen among them. Raises PlatformUnusable."""
    return fetch_userland(PACKAGES)


def _kept(name: str, made_of: str, lay: Callable[[Path], None], before: Sequence[bytes] = ()) -> Path:
    """The archive of what `lay` puts into a tree, behind others; made unless the cache has it."""

    def make(path: Path) -> None:
        tree = path.with_suffix(".tree")
        tree.mkdir()
        lay(tree)
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(tree, quiet=2, invalidation_mode=unchecked, stripdir=str(tree))
        path.write_bytes(b"".join([*before, tree_archive(tree)]))

    return keep_file("host", f"{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.{name}.cpio", make, KEEP)


def _lay_base(tree: Path, kernel: Kernel, userland: Userland) -> None:
    """What no package has, and stays: Python's libraries, and the kernel."""
    assert userland.root is not None  # noqa: S101 - of PACKAGES
    shutil.copytree(
        userland.root / STANDARD_LIBRARY, tree / STANDARD_LIBRARY, ignore=shutil.ignore_patterns("*.so")
    )
    for name in _needed(LIBRARIES):
        _copy_library(name, tree / OWN)
    _shelve(tree, kernel)


def _lay_own(tree: Path) -> None:
    """What changes with vtax."""
    for path in _own_files():
        _copy(path, tree / OWN / PACKAGE.name / path.relative_to(PACKAGE))
    _copy(agent_binary(), tree / OWN / PACKAGE.name / "bin" / agent_binary().name)
    _copy(INIT, tree / "init")
    (tree / "init").chmod(0o755)


def _shelve(tree: Path, kernel: Kernel) -> None:
    """The kernel as the cache has it, with the modules alone that somebody needs; the host's own are the same."""
    shelf = Path("var/cache/vtax") / KERNELS.name / kernel.package
    modules = kernel.root / "lib/modules" / kernel.version
    lists = [modules / name for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order")]
    files = {path for module in MODULES for path in kernel.load_order(module)}
    for path in (kernel.vmlinux, *lists, *files):
        _copy(path, tree / shelf / path.relative_to(kernel.root))
    run_tool("depmod", "-b", str(tree / shelf), kernel.version, timeout_s=60)
    (tree / "usr/lib/modules").symlink_to(f"/{shelf}/lib/modules")


def _own_files() -> list[Path]:
    """All of vtax."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(files)


def _needed(names: Sequence[str]) -> set[str]:
    """Distributions of these names, and all that they depend on here."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _requirements(name)
    return found


def _requirements(name: str) -> Iterator[str]:
    for requirement in importlib.metadata.requires(name) or ():
        if ";" not in requirement:
            yield re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _copy_library(name: str, target: Path) -> None:
    """Copy the modules of a distribution; raises PlatformUnusable where nobody knows which they are."""
    files = importlib.metadata.files(name)
    if files is None:
        raise PlatformUnusable(f"{name} has no list of its files", "needs vtax installed by pip")
    for file in files:
        if ".." not in file.parts and "__pycache__" not in file.parts and file.suffix != ".pyi":
            _copy(Path(str(file.locate())), target / file)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
