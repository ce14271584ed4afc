"""Which QEMU runs: the installed one, Debian's backport of a newer one, or one of the user's own."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from vtax.inputs.own_file import hash_file
from vtax.machine.fix import install
from vtax.platforms.backports import check_backports, fetch_backport
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.package import Shelf, to_install
from vtax.platforms.program import ask, told_version

INSTALLED = "installed"
BINARY = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
FIRMWARE = ("usr/share/qemu", "usr/share/seabios")
TELLS = "QEMU emulator version "
"""What its version follows."""
START = 'export LD_LIBRARY_PATH="$0" QEMU_MODULE_DIR="$0/qemu"; exec "$@"'
"""Starts an emulator with libraries and modules of its own tree; it keeps the shell's process id."""
PACKAGES = Shelf("qemu", PACKAGE, f"usr/bin/{BINARY}", lambda tree: None)


@dataclass(frozen=True)
class Emulator:
    """An emulator: what its command begins with, and the version that it tells."""

    command: Sequence[str]
    version: str
    sha256: str = ""
    """Of one of the user's own, whose builds may tell one version."""
    firmware: Literal["own", "installed"] = "own"
    """Whose firmware it loads: that of its own tree, or the installed QEMU's."""

    @property
    def identity(self) -> str:
        """What tells it from every other emulator."""
        return f"{self.version} {self.sha256}".rstrip()


def check_emulator(version: str) -> None:
    """Look whether an emulator can be there; raises PlatformUnusable."""
    if version == INSTALLED:
        installed_emulator()
    else:
        check_backports()


@cache
def find_emulator(version: str) -> Emulator:
    """The emulator of a version, fetched if need be; looked up once a run. Raises PlatformUnusable."""
    command = [installed_emulator()] if version == INSTALLED else _unpacked(fetch_backport(PACKAGES, _newest))
    firmware = [] if version == INSTALLED else _firmware(Path(command[-1]).parents[2])
    return Emulator([*command, *firmware], _told(*command))


def own_emulator(path: str) -> Emulator:
    """The emulator at a path, with the installed QEMU's firmware and modules where it has none; PlatformUnusable.

    It looks for both beside itself: in the tree that it was built in, or beneath the prefix that it was installed to.
    """
    told = told_version(path, PACKAGE, own="QEMU")
    if not told.startswith(TELLS):
        raise PlatformUnusable(f"{path} is no QEMU: it says {told}", "needs the path of a qemu-system-x86_64")
    version, sha256 = told.removeprefix(TELLS), hash_file(path) or ""
    _, places, _ = ask([path, "-L", "help"])
    if any(Path(place).is_dir() for place in places.splitlines()):
        return Emulator([path], version, sha256)
    modules = f"QEMU_MODULE_DIR={Path('/') / LIBRARIES / 'qemu'}"
    return Emulator(["env", modules, path, *_firmware(Path("/"))], version, sha256, "installed")


def known_emulator(version: str) -> str | None:
    """What the emulator says that is there without fetching one; None where none is. Raises PlatformUnusable."""
    if version == INSTALLED:
        return _told(installed_emulator())
    cached = PACKAGES.cached()
    return _told(*_unpacked(cached[-1])) if cached else None


@cache
def _told(*command: str) -> str:
    """The version that an emulator tells."""
    told = told_version(command[-1], PACKAGE, before=command[:-1])
    return told.removeprefix(TELLS)


def installed_emulator() -> str:
    """Return the installed emulator's path. Raises PlatformUnusable where there is none."""
    path = shutil.which(BINARY)
    if path is None:
        raise PlatformUnusable(f"no {BINARY} command found", install(PACKAGE))
    return path


def _newest(suite: str, options: Sequence[str]) -> list[str]:
    """The newest emulator of a suite, then all that it needs beyond what is installed."""
    wanted = to_install([PACKAGE], [*options, "--target-release", suite])
    if not wanted:
        raise PlatformUnusable(
            f"{suite} has no QEMU newer than the installed one", "needs version: installed"
        )
    return sorted(wanted, key=lambda package: not package.startswith(f"{PACKAGE}="))


def _unpacked(package: str) -> list[str]:
    tree = PACKAGES.root(package)
    return ["sh", "-c", START, str(tree / LIBRARIES), str(tree / PACKAGES.proof)]


def _firmware(tree: Path) -> list[str]:
    return [word for directory in FIRMWARE for word in ("-L", str(tree / directory))]
