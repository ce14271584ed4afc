"""Which QEMU runs: the installed one, or Debian's backport of a newer one, unpacked into the cache and never installed.

Package lists of the backports are kept in the cache, too: what this machine installs from stays as it is.
"""

import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vtax.machine.remedy import install
from vtax.platforms.container import told_version
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.package import Shelf, cache_directory, check_tools, filling_cache, run_tool, said

INSTALLED, BACKPORTS = "installed", "backports"
BINARY = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
TOOLS = {"apt-get": "apt", "dpkg-deb": "dpkg"}
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
FIRMWARE = ("usr/share/qemu", "usr/share/seabios")
START = 'export LD_LIBRARY_PATH="$0" QEMU_MODULE_DIR="$0/qemu"; exec "$@"'
"""Starts an emulator with libraries and modules of its own tree; it keeps the shell's process id."""
PACKAGES = Shelf("qemu", PACKAGE, f"usr/bin/{BINARY}", lambda tree: None)


@dataclass(frozen=True)
class Emulator:
    """An emulator: what its command begins with, and the version that it tells."""

    command: Sequence[str]
    version: str


def check_emulator(version: str) -> None:
    """Look whether an emulator can be there; raises PlatformUnusable."""
    if version == INSTALLED:
        _installed()
    else:
        check_tools(TOOLS)
        _suite()


@cache
def find_emulator(version: str) -> Emulator:
    """The emulator of a version, fetched if need be; looked up once a run. Raises PlatformUnusable."""
    command = [_installed()] if version == INSTALLED else _unpacked(_fetch(_suite()))
    told = told_version(command[-1], PACKAGE, before=command[:-1])
    firmware = [] if version == INSTALLED else _firmware(Path(command[-1]).parents[2])
    return Emulator([*command, *firmware], told.removeprefix("QEMU emulator version "))


def _installed() -> str:
    path = shutil.which(BINARY)
    if path is None:
        raise PlatformUnusable(f"no {BINARY} command found", install(PACKAGE))
    return path


def _suite() -> str:
    try:
        return f"{platform.freedesktop_os_release()['VERSION_CODENAME']}-{BACKPORTS}"
    except (OSError, KeyError) as error:
        raise PlatformUnusable(
            "this system has no backports", "needs Debian or a derivative of it"
        ) from error


def _fetch(suite: str) -> Path:
    """The tree of the newest emulator of a suite, with all that it needs beyond what is installed."""
    try:
        options = _lists(suite)
        simulated = run_tool(
            *("apt-get", *options, "--simulate", "--no-install-recommends", "--target-release", suite),
            *("install", PACKAGE),
            timeout_s=60,
        )
    except (subprocess.SubprocessError, LookupError) as error:
        cached = PACKAGES.cached()
        if not cached:
            raise PlatformUnusable(
                f"no QEMU of {suite} can be had: {said(error)}",
                f"needs a package archive that has {suite}, and what the installed {PACKAGE} needs",
            ) from error
        return PACKAGES.root(cached[-1])
    wanted = [
        f"{name}={version}"
        for name, version in re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", simulated, re.MULTILINE)
    ]
    wanted.sort(key=lambda package: not package.startswith(f"{PACKAGE}="))
    if not wanted:
        raise PlatformUnusable(
            f"{suite} has no QEMU newer than the installed one", "needs version: installed"
        )
    return PACKAGES.root(PACKAGES.fetch(wanted[0], wanted[1:], options))


def _lists(suite: str) -> list[str]:
    """Options that have apt know the suite, from lists of its own; SubprocessError or LookupError where it is not."""
    root = cache_directory() / "apt"
    with filling_cache():
        for directory in ("lists/partial", "archives/partial"):
            (root / directory).mkdir(parents=True, exist_ok=True)
        source = root / "sources.list"
        source.write_text(f"deb {_archive(suite.removesuffix(f'-{BACKPORTS}'))} {suite} main\n")
    options = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": root / "lists",
        "Dir::Cache": root,
        "APT::Sandbox::User": "root",
        "Acquire::Retries": 1,
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run_tool("apt-get", *words, "--error-on=any", "update", timeout_s=120)
    return words


def _archive(codename: str) -> str:
    """Where this machine has its packages of Debian's from; raises LookupError where it has none."""
    told = run_tool("apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", timeout_s=60)
    found = re.search(rf"^Debian {re.escape(codename)} (\S+)$", told, re.MULTILINE)
    if found is None:
        raise LookupError(f"no package lists of Debian {codename} are here")
    return found[1]


def _unpacked(tree: Path) -> list[str]:
    return ["sh", "-c", START, str(tree / LIBRARIES), str(tree / PACKAGES.proof)]


def _firmware(tree: Path) -> list[str]:
    return [word for directory in FIRMWARE for word in ("-L", str(tree / directory))]
