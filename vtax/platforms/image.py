"""The initramfs of a guest: the agent as /init, kernel modules in the order they go in, programs where there are any.

Cached by the hash of everything in it. `/modules/control.list` names what the control stream needs and
`/modules/NAME.list` what the NIC driver NAME needs, a path a line.
"""

import hashlib
import lzma
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from vtax.machine.agent import agent_binary
from vtax.platforms.cache import keep_file, still_kept
from vtax.platforms.cpio import newc_archive
from vtax.platforms.kernel import Kernel
from vtax.platforms.userland import NO_PROGRAMS, Userland

CONTROL_MODULES = ("virtio_pci", "virtio_mmio", "virtio_console")
DIRECTORIES = ("dev", "proc", "sys", "tmp", "modules")
KEEP = 8
"""Images kept in the cache; older ones belong to agents built earlier."""


def build_image(kernel: Kernel, drivers: tuple[str, ...], userland: Userland = NO_PROGRAMS) -> Path:
    """The initramfs for guests of `kernel` whose NICs need `drivers` (module names); raises PlatformUnusable."""
    image = _build(kernel, drivers, userland)
    if not still_kept(image):  # others have built so many since
        _build.cache_clear()
        image = _build(kernel, drivers, userland)
    return image


@cache
def _build(kernel: Kernel, drivers: tuple[str, ...], userland: Userland) -> Path:
    lists = {"control": _merged(kernel, CONTROL_MODULES)}
    for driver in drivers:
        lists[driver] = kernel.load_order(driver)
    return pack_image(lists, userland)


def pack_image(lists: dict[str, list[Path]], userland: Userland = NO_PROGRAMS) -> Path:
    """The initramfs whose module lists are `lists`: name to files in their order; raises PlatformUnusable."""
    files: dict[str, tuple[int, bytes]] = {"init": (0o100755, agent_binary().read_bytes())}
    for name, paths in lists.items():
        listing = ""
        for path in paths:
            module, content = _uncompressed(path)
            files[f"modules/{module}"] = (0o100644, content)
            listing += f"/modules/{module}\n"
        files[f"modules/{name}.list"] = (0o100644, listing.encode())

    # An initramfs may be several archives in a row. What is in the later one stays: no package replaces the agent.
    archive = userland.archive + newc_archive(DIRECTORIES, files)
    name = f"{hashlib.sha256(archive).hexdigest()[:16]}.cpio"
    return keep_file("image", name, lambda path: path.write_bytes(archive), KEEP)


def _uncompressed(path: Path) -> tuple[str, bytes]:
    """A module as the agent inserts it, and its name there: newer kernels have them compressed."""
    content = path.read_bytes()
    return (path.stem, lzma.decompress(content)) if path.suffix == ".xz" else (path.name, content)


def _merged(kernel: Kernel, modules: Sequence[str]) -> list[Path]:
    paths: dict[Path, None] = {}
    for module in modules:
        paths.update(dict.fromkeys(kernel.load_order(module)))
    return list(paths)
