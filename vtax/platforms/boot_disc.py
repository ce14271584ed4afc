"""A disc that starts vtax's guest by itself, for hypervisors that take no kernel: ISO 9660, started by ISOLINUX.

Cached by the hash of everything on it. The guest's control stream is its first serial line, its console the second.
"""

import hashlib
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from vtax.machine.fix import install
from vtax.platforms.cache import keep_file
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.image import pack_image
from vtax.platforms.kernel import KERNEL_WORDS, Kernel, check_kernel
from vtax.platforms.package import check_tools, said

LOADER = Path("/usr/lib/ISOLINUX/isolinux.bin")
LIBRARY = Path("/usr/lib/syslinux/modules/bios/ldlinux.c32")
TOOLS = {"xorriso": "xorriso"}
FILES = {LOADER: "isolinux", LIBRARY: "syslinux-common"}
"""What starts the kernel, and the packages that have it."""
PARAMETERS = f"vtax.control=ttyS0 console=ttyS1,115200 loglevel=4 {KERNEL_WORDS}"
MENU = f"DEFAULT vtax\nPROMPT 0\nLABEL vtax\n KERNEL vmlinuz\n INITRD initrd\n APPEND {PARAMETERS}\n"
KEEP = 8
"""Discs kept in the cache; older ones belong to agents built earlier."""


def check_disc() -> None:
    """Look whether a disc can be made; raises PlatformUnusable."""
    check_kernel("distribution")
    check_tools(TOOLS)
    for path, package in FILES.items():
        if not path.is_file():
            raise PlatformUnusable(f"no {path}, which starts a guest from a disc", install(package))


@cache
def build_disc(kernel: Kernel, modules: tuple[str, ...]) -> Path:
    """The disc of guests of `kernel` that need `modules` for their NICs; raises PlatformUnusable."""
    check_disc()
    lists = {"control": [], **{module: kernel.load_order(module) for module in modules}}
    (boot_image,) = (kernel.root / "boot").glob("vmlinuz-*")
    tree = {
        "vmlinuz": boot_image.read_bytes(),
        "initrd": pack_image(lists).read_bytes(),
        "isolinux.bin": LOADER.read_bytes(),
        "ldlinux.c32": LIBRARY.read_bytes(),
        "isolinux.cfg": MENU.encode(),
    }
    key = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in tree.values()))
    return keep_file("disc", f"{key.hexdigest()[:16]}.iso", lambda path: _master(tree, path), KEEP)


def _master(tree: dict[str, bytes], path: Path) -> None:
    """Write a disc; raises PlatformUnusable."""
    root = path.with_suffix(".tree")
    root.mkdir()
    for name, content in tree.items():
        (root / name).write_bytes(content)
    options = ("-quiet", "-o", str(path), "-b", "isolinux.bin", "-c", "boot.cat")
    command = ["xorriso", "-as", "mkisofs", *options, *BOOTABLE, str(root)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    except subprocess.SubprocessError as error:
        raise PlatformUnusable(f"mastering a disc failed: {said(error)}", "df -h") from error


BOOTABLE: Sequence[str] = ("-no-emul-boot", "-boot-load-size", "4", "-boot-info-table")
"""As ISOLINUX wants its disc (SYSLINUX, doc/isolinux.txt)."""
