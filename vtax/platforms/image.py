"""The initramfs of a guest: the agent as /init, kernel modules in the order they go in, programs where there are any.

Cached by the hash of everything in it. `/modules/control.list` names what the control stream needs and
`/modules/NAME.list` what the NIC driver NAME needs, a path a line.
"""

import hashlib
import lzma
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from vtax.machine.agent import agent_binary
from vtax.platforms.cache import keep_file, still_kept
from vtax.platforms.cpio import newc_archive
from vtax.platforms.initrd import Initrd, Unpacked
from vtax.platforms.kernel import Kernel
from vtax.platforms.own_kernel import OwnKernel
from vtax.platforms.userland import NO_PROGRAMS, Userland

CONTROL_MODULES = ("virtio_pci", "virtio_mmio", "virtio_console")
DIRECTORIES = ("dev", "proc", "sys", "tmp", "modules")
KEEP = 8
"""Images kept in the cache; older ones belong to agents built earlier."""


def build_image(
    kernel: Kernel | OwnKernel,
    drivers: tuple[str, ...],
    userland: Userland = NO_PROGRAMS,
    control: tuple[str, ...] = CONTROL_MODULES,
) -> Path:
    """The initramfs for guests of `kernel` whose NICs need `drivers`, and whose control stream needs `control`.

    Both are names of modules. Raises PlatformUnusable.
    """
    image = _build(kernel, drivers, userland, control)
    if not still_kept(image):  # others have built so many since
        _build.cache_clear()
        image = _build(kernel, drivers, userland, control)
    return image


@cache
def _build(
    kernel: Kernel | OwnKernel, drivers: tuple[str, ...], userland: Userland, control: tuple[str, ...]
) -> Path:
    lists: dict[str, Sequence[Path | Unpacked]] = {"control": _merged(kernel, control)}
    for driver in drivers:
        lists[driver] = kernel.load_order(driver)
    return pack_image(lists, userland, kernel.initrd if isinstance(kernel, OwnKernel) else None)


def pack_image(
    lists: Mapping[str, Sequence[Path | Unpacked]],
    userland: Userland = NO_PROGRAMS,
    initrd: Initrd | None = None,
) -> Path:
    """The initramfs whose module lists are `lists`, name to files in their order, behind an initrd of the user's own.

    Raises PlatformUnusable.
    """
    files: dict[str, tuple[int, bytes]] = {"init": (0o100755, agent_binary().read_bytes())}
    for name, paths in lists.items():
        listing = ""
        for path in paths:
            module, content = (path.name, path.content) if isinstance(path, Unpacked) else _uncompressed(path)
            files[f"modules/{module}"] = (0o100644, content)
            listing += f"/modules/{module}\n"
        files[f"modules/{name}.list"] = (0o100644, listing.encode())

    # An initramfs may be several archives in a row. What is in the later one stays: no package replaces the agent.
    ahead = b"" if initrd is None else initrd.archive
    archive = ahead + userland.archive + newc_archive(DIRECTORIES, files)
    name = f"{hashlib.sha256(archive).hexdigest()[:16]}.cpio"
    return keep_file("image", name, lambda path: path.write_bytes(archive), KEEP)


def _uncompressed(path: Path) -> tuple[str, bytes]:
    """A module as the agent inserts it, and its name there: newer kernels have them compressed."""
    content = path.read_bytes()
    return (path.stem, lzma.decompress(content)) if path.suffix == ".xz" else (path.name, content)


def _merged(kernel: Kernel | OwnKernel, modules: Sequence[str]) -> list[Path | Unpacked]:
    paths: dict[Path | Unpacked, None] = {}
    for module in modules:
        paths.update(dict.fromkeys(kernel.load_order(module)))
    return list(paths)
