"""The cache of unpacked packages, of root's: what only root can plant in a package."""

import os
import stat
import struct
import subprocess
from pathlib import Path

import pytest

from tests.helpers.commands import command, gives_away
from tests.helpers.packages import build_package
from vtax.platforms.cache import HELD, make_harmless
from vtax.platforms.package import Shelf

pytestmark = pytest.mark.system

SHELF = Shelf("shelf", "tool", "usr/bin/tool", lambda tree: None)
CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0)
"""CAP_SYS_ADMIN, for whoever starts the file (vfs_cap_data, revision 2)."""
NOBODY = 65534


def as_nobody(*words: str | Path) -> str:
    command = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def plant(tree: Path) -> None:
    """Copies of `id` that give rights: root's, a capability, another user's own; a device, an open directory."""
    (tree / "usr/bin").mkdir(parents=True)
    for name in ("tool", "capable", "own"):
        (tree / f"usr/bin/{name}").write_bytes(Path("/usr/bin/id").read_bytes())
        (tree / f"usr/bin/{name}").chmod(0o755)
    os.setxattr(tree / "usr/bin/capable", "security.capability", CAPABILITY)
    os.chown(tree / "usr/bin/own", NOBODY, NOBODY)
    (tree / "usr/bin/tool").chmod(0o4755)
    os.mknod(tree / "usr/memory", 0o666 | stat.S_IFCHR, os.makedev(1, 1))
    (tree / "usr/open").mkdir()
    (tree / "usr/open").chmod(0o1777)


def rights(tree: Path) -> list[str]:
    """What in a tree gives somebody rights."""
    found = []
    for path in tree.rglob("*"):
        about = path.lstat()
        by_mode = about.st_mode & 0o6022 or about.st_uid or not (path.is_file() or path.is_dir())
        if by_mode or "security.capability" in os.listxattr(path):
            found.append(path.name)
    return sorted(found)


def test_a_hostile_package_comes_out_harmless(tmp_path: Path, cache: Path, commands: Path) -> None:
    build_package("tool", tmp_path, tmp_path / "debs", plant)
    command(commands, "apt-get", f'case "$*" in {gives_away(tmp_path / "debs")} esac')
    unpacked = tmp_path / "unpacked"
    subprocess.run(["dpkg-deb", "-x", tmp_path / "debs/tool_1_all.deb", unpacked], check=True)
    assert rights(unpacked) == ["memory", "open", "own", "tool"], "as dpkg unpacks it"
    SHELF.place("1", ["tool"], [])
    assert rights(SHELF.root("1")) == []
    assert not (SHELF.root("1") / "usr/memory").exists()


def test_what_may_lie_in_a_tree_is_made_harmless(tmp_path: Path) -> None:
    """A file capability too, which dpkg unpacks none of."""
    plant(tmp_path / "tree")
    assert rights(tmp_path / "tree") == ["capable", "memory", "open", "own", "tool"]
    make_harmless(tmp_path / "tree")
    assert rights(tmp_path / "tree") == []


def test_nobody_gets_rights_or_keeps_a_tree_by_its_lock(tmp_path: Path, cache: Path, commands: Path) -> None:
    """Another user starts what lies in the cache, and tries to lock it."""
    for directory in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        directory.chmod(0o711)
    build_package("tool", tmp_path, tmp_path / "debs", plant)
    command(commands, "apt-get", f'case "$*" in {gives_away(tmp_path / "debs")} esac')
    SHELF.place("1", ["tool"], [])
    tree = SHELF.root("1")
    assert as_nobody(tree / "usr/bin/tool", "-u") == str(NOBODY)
    for lock in (tree / HELD, cache / ".shelf.lock"):
        assert as_nobody("sh", "-c", 'flock "$0" echo locked', str(lock)) == ""


def test_apt_downloads_as_its_own_user(cache: Path, commands: Path, tmp_path: Path) -> None:
    """As far as it can reach the cache: it is asked who may write where it downloads to, and keeps its setting."""
    for directory in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        directory.chmod(0o711)
    build_package("tool", tmp_path, tmp_path / "debs", plant)
    user = "setpriv --reuid _apt --clear-groups"
    looks = (
        f'echo "$*" >> {tmp_path}/asked; {user} touch here && rm here && stat -c %U . >> {tmp_path}/owner;'
    )
    give = gives_away(tmp_path / "debs").replace("*download*)", f"*download*) {looks}")
    command(commands, "apt-get", f'case "$*" in {give} esac')
    SHELF.place("1", ["tool"], [])
    assert (tmp_path / "owner").read_text() == "_apt\n"
    assert "Sandbox" not in (tmp_path / "asked").read_text()
