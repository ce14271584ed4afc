"""A distribution package unpacked into the cache: downloaded where it can be had, never installed."""

import hashlib
import logging
import os
import pwd
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.inputs.trust import ROOT
from vtax.machine.fix import install
from vtax.platforms.cache import (
    cache_directory,
    check_cache,
    filling,
    filling_cache,
    hold,
    last_used,
    make_harmless,
    mark_harmless,
    take_away,
)
from vtax.platforms.contract import PlatformUnusable

KEEP = 3
"""Trees of a shelf that are kept, those that were used last; beside these, those that processes use."""
APT_USER = "_apt"
"""Who apt changes to before it speaks with an archive (`APT::Sandbox::User`)."""
LISTED = re.compile(r"^'[^']*' ([^\s/]+) \d+ (SHA256|SHA512):([0-9a-f]+)$", re.MULTILINE)
"""A line of `apt-get --print-uris`."""
DEBIANS_OWN = ("apt", "dpkg")
"""Packages that no other distribution can install."""
COLON = "%3a"
"""What apt writes for one in the name of a file; lists of paths are separated by them."""

log = logging.getLogger(__name__)


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
        """The versions that are there, oldest first (6.1.0-9 before 6.1.0-10).

        Raises PlatformUnusable where others than root could have put them there.
        """
        check_cache(self.name)
        shelf = self.root("")
        depth = len(Path(self.proof).parts)
        found = (path.parents[depth - 1].name.replace(COLON, ":") for path in shelf.glob(f"*/{self.proof}"))
        return sorted(found, key=_by_version)

    def root(self, version: str) -> Path:
        """Where the tree of a version is."""
        return cache_directory() / self.name / version.replace(":", COLON)

    def newest(self) -> str | None:
        """The newest version that is in the cache, which stays there while this process lives; None without any."""
        self._mark()
        return next((version for version in reversed(self.cached()) if hold(self.root(version))), None)

    def fetch(self, newest: str | None, beside: Sequence[str] = (), options: Sequence[str] = ()) -> str:
        """See that `newest` (as `apt-get download` takes it) is in the cache, else the newest that is.

        The packages `beside` it go into the same tree; `options` are apt's.
        Returns which of them it is; raises PlatformUnusable when there is neither.
        """
        if newest is not None:
            try:
                self.place(newest, (newest, *beside), options)
            except PlatformUnusable as unusable:
                if (cached := self.newest()) is None:
                    raise
                log.warning("%s; %s is used from the cache", unusable.reason, cached)
                return cached
            return newest
        if (cached := self.newest()) is None:
            raise PlatformUnusable(f"no {self.package} package is known", "apt-get update")
        return cached

    def place(self, name: str, packages: Sequence[str], options: Sequence[str]) -> None:
        """See that a tree of packages is in the cache under a name, whole, and stays there while this process lives.

        Of other trees the last used ones are kept, and those that processes use. Raises PlatformUnusable.
        """
        self._mark()
        root = self.root(name)
        if hold(root):
            return
        with filling(self.name) as scratch:
            if hold(root):  # another run was faster
                return
            tree = self._unpack(packages, scratch, options)
            mark_harmless(tree)
            tree.rename(root)
            hold(root)
            for number, old in enumerate(sorted(map(self.root, self.cached()), key=last_used)[:-KEEP]):
                take_away(old, scratch / f"old-{number}")

    def _mark(self) -> None:
        """Make harmless what an earlier vtax has unpacked."""
        with filling_cache():
            for version in self.cached():
                mark_harmless(self.root(version))

    def _unpack(self, packages: Sequence[str], scratch: Path, options: Sequence[str]) -> Path:
        """Download packages and make their tree, where nobody else can reach it; raises PlatformUnusable."""
        closed = scratch / "closed"
        closed.mkdir(mode=0o700)
        tree = closed / "tree"
        archives = _download(packages, scratch, closed, options)
        try:
            for archive in archives:
                run_tool("dpkg-deb", "-x", str(archive), str(tree), timeout_s=300)
            make_harmless(tree)
            self.finish(tree)
        except (subprocess.SubprocessError, ValueError) as error:
            raise PlatformUnusable(
                f"unpacking {packages[0]} failed: {said(error)}", "df -h; apt-get clean"
            ) from error
        return tree


def check_tools(tools: dict[str, str]) -> None:
    """Raise PlatformUnusable when a command of `tools` (to the package that has it) is missing."""
    for command, package in tools.items():
        if shutil.which(command) is None:
            fix = "needs Debian or a derivative of it" if package in DEBIANS_OWN else install(package)
            raise PlatformUnusable(f"no {command} command found", fix)


def require_open(path: Path, user: str) -> None:
    """Raise PlatformUnusable where a directory on the way keeps out `user`, as whom a guest runs."""
    for directory in path.resolve().parents:
        if directory.is_dir() and not directory.stat().st_mode & stat.S_IXOTH:
            raise PlatformUnusable(
                f"{directory} is closed to {user}, as whom the guest runs",
                f"chmod o+x {shlex.quote(str(directory))}",
            )


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


def _download(packages: Sequence[str], scratch: Path, closed: Path, options: Sequence[str]) -> list[Path]:
    """Download packages as apt's own user, and copy them to where that one cannot change them; raises PlatformUnusable.

    Each copy must have the hash that apt's lists have of it: apt has verified who signed these.
    """
    reachable = scratch / "archives"
    reachable.mkdir()
    if (user := _apt_user()) is not None:
        os.chown(reachable, user, -1)
        scratch.chmod(0o711)
    try:
        listed = LISTED.findall(
            run_tool("apt-get", *options, "--print-uris", "download", *packages, timeout_s=60)
        )
        if len(listed) != len(packages):
            raise ValueError(f"{len(listed)} of {len(packages)} have a strong hash in apt's lists")
        run_tool("apt-get", *options, "download", *packages, timeout_s=600, cwd=reachable)
        if missing := [name for name, _, _ in listed if not (reachable / name).exists()]:
            raise ValueError(f"{missing[0]} did not come")
        return [_take_over(reachable / name, closed / name, *proof) for name, *proof in listed]
    except (subprocess.SubprocessError, ValueError) as error:
        first, *others = packages
        wanted = f"{first} and {len(others)} beside it" if others else first
        raise PlatformUnusable(
            f"downloading {wanted} failed: {said(error)}", f"apt-get update && apt-get download {first}"
        ) from error


def _apt_user() -> int | None:
    """Who apt downloads as; None where it has nobody for that, or cannot change its user."""
    try:
        return pwd.getpwnam(APT_USER).pw_uid if os.getuid() == ROOT else None
    except KeyError:
        return None


def _take_over(archive: Path, own: Path, algorithm: str, digest: str) -> Path:
    """Copy an archive that another user may change still; raises ValueError for one of another hash."""
    found = hashlib.new(algorithm)
    descriptor = os.open(archive, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as source, own.open("xb") as copy:  # noqa: PTH123 - of a descriptor
        while part := source.read(1 << 20):
            found.update(part)
            copy.write(part)
    if found.hexdigest() != digest:
        raise ValueError(f"{archive.name} does not have the hash that apt's lists have of it")
    return own


def said(error: Exception) -> str:
    """The last thing a failed command complained about."""
    lines = (getattr(error, "stderr", None) or "").strip().splitlines()
    return str(lines[-1]) if lines else str(error)
