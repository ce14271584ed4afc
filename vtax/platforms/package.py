"""A distribution package unpacked into the cache: downloaded where it can be had, never installed."""

import contextlib
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.remedy import install
from vtax.platforms.contract import PlatformUnusable

DEBIANS_OWN = ("apt", "dpkg")
"""Packages that no other distribution can install."""
COLON = "%3a"
"""What apt writes for one in the name of a file; lists of paths are separated by them."""

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
            f"needs 2 GB in {cache_directory()}, or VTAX_CACHE set to another directory",
        ) from error


@dataclass(frozen=True)
class Shelf:
    """The place in the cache for all versions of one package."""

    name: str
    package: str
    """What the package lists know it by."""
    proof: str
    """A file of the finished tree."""
    finish: Callable[[Path], None]
    """Makes of an unpacked tree what is needed; ValueError or SubprocessError says what is wrong with it."""

    def cached(self) -> list[str]:
        """The versions that are there, oldest first (6.1.0-9 before 6.1.0-10)."""
        shelf = self.root("")
        depth = len(Path(self.proof).parts)
        found = (path.parents[depth - 1].name.replace(COLON, ":") for path in shelf.glob(f"*/{self.proof}"))
        return sorted(found, key=_by_version)

    def root(self, version: str) -> Path:
        """Where the tree of a version is."""
        return cache_directory() / self.name / version.replace(":", COLON)

    def fetch(self, newest: str | None, beside: Sequence[str] = (), options: Sequence[str] = ()) -> str:
        """See that `newest` (as `apt-get download` takes it) is in the cache, else the newest that is.

        The packages `beside` it go into the same tree; `options` are apt's.
        Returns which of them it is; raises PlatformUnusable when there is neither.
        """
        cached = self.cached()
        if newest is None:
            if not cached:
                raise PlatformUnusable(f"no {self.package} package is known", "apt-get update")
            return cached[-1]
        if newest not in cached:
            try:
                self.place(newest, (newest, *beside), options)
            except PlatformUnusable as unusable:
                if not cached:
                    raise
                log.warning("%s; %s is used from the cache", unusable.reason, cached[-1])
                return cached[-1]
        return newest

    def place(self, name: str, packages: Sequence[str], options: Sequence[str]) -> None:
        """Download packages and put their tree in place under a name, all at once; raises PlatformUnusable."""
        root = self.root(name)
        with filling_cache():
            root.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
                work = Path(scratch)
                work.chmod(0o755)
                tree = work / "tree"
                archives = _download(packages, work, options)
                try:
                    for archive in archives:
                        run_tool("dpkg-deb", "-x", str(archive), str(tree), timeout_s=300)
                    self.finish(tree)
                except (subprocess.SubprocessError, ValueError) as error:
                    raise PlatformUnusable(
                        f"unpacking {packages[0]} failed: {said(error)}", "df -h; apt-get clean"
                    ) from error
                if not root.exists():  # another run may have been faster
                    tree.rename(root)


def check_tools(tools: dict[str, str]) -> None:
    """Raise PlatformUnusable when a command of `tools` (to the package that has it) is missing."""
    for command, package in tools.items():
        if shutil.which(command) is None:
            remedy = "needs Debian or a derivative of it" if package in DEBIANS_OWN else install(package)
            raise PlatformUnusable(f"no {command} command found", remedy)


def told_by_lists(*question: str, pattern: str) -> str | None:
    """What `apt-cache` answers, as far as `pattern`'s first group has it; None when its lists know nothing."""
    try:
        told = run_tool("apt-cache", *question, timeout_s=60)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(pattern, told, re.MULTILINE)
    return found.group(1) if found else None


def to_install(packages: Sequence[str], options: Sequence[str]) -> list[str]:
    """All that installing packages takes, as `apt-get download` takes it; raises SubprocessError."""
    told = run_tool(
        *("apt-get", *options, "--simulate", "--no-install-recommends", "install", *packages), timeout_s=60
    )
    inst = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", told, re.MULTILINE)
    return [f"{name}={version}" for name, version in inst]


def run_tool(*command: str, timeout_s: float, cwd: Path | None = None) -> str:
    """What a command prints; raises SubprocessError when it fails."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s, cwd=cwd)
    return done.stdout


def _by_version(name: str) -> list[tuple[int, str]]:
    """A sort key that takes each run of digits as a number."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _download(packages: Sequence[str], work: Path, options: Sequence[str]) -> list[Path]:
    try:
        run_tool("apt-get", *options, "download", *packages, timeout_s=600, cwd=work)
        archives = list(work.glob("*.deb"))
        if len(archives) != len(packages):
            raise ValueError(f"{len(archives)} of {len(packages)} came")
    except (subprocess.SubprocessError, ValueError) as error:
        first, *others = packages
        wanted = f"{first} and {len(others)} beside it" if others else first
        raise PlatformUnusable(
            f"downloading {wanted} failed: {said(error)}", f"apt-get update && apt-get download {first}"
        ) from error
    return archives


def said(error: Exception) -> str:
    """The last thing a failed command complained about."""
    lines = (getattr(error, "stderr", None) or "").strip().splitlines()
    return str(lines[-1]) if lines else str(error)
