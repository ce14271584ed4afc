"""The programs of guests with a file system of their own: Debian packages, and all that these depend on.

They are those that the package lists of this machine know, whatever is installed on it. They are unpacked, never
installed: no script of theirs runs, so that there are no users, no services and no alternatives of theirs.
"""

import hashlib
import shutil
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.cpio import tree_archive
from vtax.platforms.package import Shelf, check_tools, said, to_install

TOOLS = {"apt-get": "apt", "dpkg-deb": "dpkg"}
AS_IF_NOTHING = ("-o", "Dir::State::status=/dev/null", "-o", "Dir::Cache::pkgcache=")
"""Has apt count nothing as installed, and keep that to itself."""
FOUNDATION = ("coreutils", "dash", "lsb-base", "usr-is-merged")
"""What packages take for granted (`env`, `sh`), and what they depend on else by way of systemd and Perl."""
MERGED = ("bin", "sbin", "lib", "lib32", "lib64")
"""Beneath /usr, with links to them where they were."""
LEFT_OUT = tuple(
    f"usr/share/{name}"
    for name in ("bug", "doc", "doc-base", "info", "lintian", "locale", "man", "menu", "pixmaps")
)
"""What no program reads."""
OWN_FILES = {
    "etc/passwd": "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
"""What installing would have made."""
ARCHIVE = "userland.cpio"
SEARCH_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where programs are looked for, as the agent does."""
MOST_LINKS = 40


@dataclass(frozen=True)
class Userland:
    """An unpacked set of packages, or nothing."""

    root: Path | None = None
    """Where its /usr and /etc are, and its archive."""
    packages: tuple[str, ...] = ()
    """NAME=VERSION of all of them."""

    @property
    def archive(self) -> bytes:
        """All of it for an initramfs."""
        return (self.root / ARCHIVE).read_bytes() if self.root else b""

    @property
    def memory_bytes(self) -> int:
        """What it takes of a guest's memory at its start: the archive, and what is unpacked of it; whole MiB."""
        archive_bytes = (self.root / ARCHIVE).stat().st_size if self.root else 0
        return -(-2 * archive_bytes >> 20) << 20

    @property
    def top(self) -> list[Path]:
        """What stands in its root: directories, and links into them."""
        places = self.root.iterdir() if self.root else ()
        return sorted(place for place in places if place.is_symlink() or place.is_dir())

    @property
    def facts(self) -> dict[str, str]:
        """The versions, for the result."""
        named = (package.partition("=") for package in self.packages)
        return {f"package {name}": version for name, _, version in named}

    def has(self, program: str) -> bool:
        """Whether a program is there, by its path or by its name, and everybody may start it."""
        root = self.root
        places = [program] if program.startswith("/") else [f"{place}/{program}" for place in SEARCH_PATH]
        return root is not None and any(_is_for_everybody(root, place) for place in places)


NO_PROGRAMS = Userland()


def fetch_userland(packages: Sequence[str] | None) -> Userland:
    """The newest versions of packages, and of all that they depend on; looked up once a run.

    Nothing where there are to be no programs at all. Raises PlatformUnusable.
    """
    return NO_PROGRAMS if packages is None else _fetch(tuple(packages))


@cache
def _fetch(packages: tuple[str, ...]) -> Userland:
    check_tools(TOOLS)
    wanted = [*FOUNDATION, *packages]
    try:
        needed = tuple(sorted(to_install(wanted, AS_IF_NOTHING)))
    except subprocess.SubprocessError as error:
        fix = f"apt-get update && apt-get --simulate install {' '.join(packages)}".rstrip()
        raise PlatformUnusable(f"no programs for guests can be had: {said(error)}", fix) from error
    made_of = repr((needed, MERGED, LEFT_OUT, OWN_FILES))
    key = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    USERLANDS.place(key, needed, AS_IF_NOTHING)
    return Userland(USERLANDS.root(key), needed)


def follow(root: Path, path: str) -> Path | None:
    """Where a path of a tree leads, links followed as from within, so never out of it; None for links in circles."""
    here, left = PurePosixPath(), deque(PurePosixPath(path).parts)
    links = 0
    while left:
        part = left.popleft()
        if part in ("/", ".."):
            here = PurePosixPath() if part == "/" else here.parent
            continue
        step = root / here / part
        if not step.is_symlink():
            here /= part
            continue
        links += 1
        if links > MOST_LINKS:
            return None
        left.extendleft(reversed(step.readlink().parts))
    return root / here


def _is_for_everybody(root: Path, path: str) -> bool:
    try:
        program = follow(root, path)
        return program is not None and program.is_file() and bool(program.stat().st_mode & 0o001)
    except OSError:  # a name that no file can have
        return False


def _lay_out(tree: Path) -> None:
    """Make of an unpacked tree what a guest is given; raises ValueError where that would change what is not in it."""
    for name in (*(f"usr/{name}" for name in MERGED), *LEFT_OUT, *OWN_FILES, ARCHIVE):
        for place in (PurePosixPath(name), *PurePosixPath(name).parents):
            if (tree / place).is_symlink():
                raise ValueError(f"{place} is a link")
    for name in MERGED:
        _merge(tree, name)
    for name in LEFT_OUT:
        shutil.rmtree(tree / name, ignore_errors=True)
    for name, content in OWN_FILES.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(content)
    archive = tree_archive(tree)
    (tree / ARCHIVE).write_bytes(archive)


def _merge(tree: Path, name: str) -> None:
    """Move a directory beneath /usr, as systems have it for which packages are made."""
    apart, merged = tree / name, tree / "usr" / name
    if apart.is_symlink():
        return
    if apart.is_dir():
        shutil.copytree(apart, merged, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(apart)
    if merged.is_dir():
        apart.symlink_to(f"usr/{name}")


USERLANDS = Shelf("userland", "userland", ARCHIVE, _lay_out)
