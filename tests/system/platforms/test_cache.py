"""The cache of unpacked packages, of root's: what only root can plant in a package."""

import errno
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
ACCESS_LIST = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, rights, of)
    for tag, rights, of in (
        (1, 7, 2**32 - 1),
        (2, 7, NOBODY),
        (4, 5, 2**32 - 1),
        (16, 7, 2**32 - 1),
        (32, 5, 2**32 - 1),
    )
)
"""All rights for nobody beside the owner, the group and others (linux/posix_acl_xattr.h)."""
GIVING = {"security.capability", "system.posix_acl_access", "system.posix_acl_default"}


def as_nobody(*words: str | Path, cwd: Path | None = None) -> str:
    """Return what a command prints as nobody; with `cwd`, directories above it need not be open to nobody."""
    command = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd).stdout.strip()


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
        if by_mode or GIVING & {*os.listxattr(path, follow_symlinks=False)}:
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


def test_no_access_list_stays(tmp_path: Path) -> None:
    """Neither a file's own, by which another user writes, nor one that a directory hands on."""
    tree = tmp_path / "tree"
    (tree / "usr/handed").mkdir(parents=True)
    (tree / "usr/shared").write_text("")
    try:
        os.setxattr(tree / "usr/shared", "system.posix_acl_access", ACCESS_LIST)
        os.setxattr(tree / "usr/handed", "system.posix_acl_default", ACCESS_LIST)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        pytest.skip("this file system has no access control lists")
    attack = ("sh", "-c", "echo written >> shared; cat shared")
    assert as_nobody(*attack, cwd=tree / "usr") == "written"
    assert rights(tree) == ["handed", "shared"]
    make_harmless(tree)
    assert as_nobody(*attack, cwd=tree / "usr") == "written", "it is read, and not written again"
    assert rights(tree) == []
    (tree / "usr/handed/new").touch()
    assert rights(tree) == []


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
        attack = ("sh", "-c", 'ls "$0" && flock "$0" echo locked', lock.name)
        assert as_nobody(*attack, cwd=lock.parent) == lock.name


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
