"""The cache of unpacked packages: nobody gets rights by it, nobody else writes it, and old trees go."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import command, gives_away
from tests.helpers.packages import build_package
from vtax.platforms import PlatformUnusable
from vtax.platforms import cache as of_cache
from vtax.platforms.cache import HELD, hold, keep_file, make_harmless, open_shelf
from vtax.platforms.package import KEEP, Shelf

PROOF = "usr/bin/tool"
seen: list[int] = []
"""The modes of the directories around a tree while it is finished."""


def finish(tree: Path) -> None:
    seen.extend(stat.S_IMODE(each.stat().st_mode) for each in tree.parents[:2])
    (tree / "made").write_text("in the end")


SHELF = Shelf("shelf", "tool", PROOF, finish)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def debs(tmp_path: Path, commands: Path) -> Path:
    """What apt-get gives away: a package that would give rights to everybody."""

    def lay(tree: Path) -> None:
        (tree / PROOF).parent.mkdir(parents=True)
        (tree / PROOF).write_text("a tool")
        (tree / PROOF).chmod(0o6755)
        (tree / "usr/secret").write_text("in every copy of the package")
        (tree / "usr/secret").chmod(0o600)
        (tree / "var/open").mkdir(parents=True)
        (tree / "var/open").chmod(0o3777)
        (tree / "var/link").symlink_to("/etc/passwd")
        os.mkfifo(tree / "var/fifo")

    debs = tmp_path / "debs"
    build_package("tool", tmp_path, debs, lay)
    command(commands, "apt-get", f'case "$*" in {gives_away(debs)} esac')
    return debs


def place(*names: str) -> None:
    for name in names:
        SHELF.place(name, ["tool"], [])


def modes(tree: Path) -> dict[str, str]:
    return {
        str(path.relative_to(tree)): stat.filemode(path.lstat().st_mode)
        for path in [tree, *tree.rglob("*")]
        if not path.is_symlink() and path.name != HELD
    }


HARMLESS = {
    ".": "drwxr-xr-x",
    "made": "-rw-r--r--",
    "usr": "drwxr-xr-x",
    "usr/bin": "drwxr-xr-x",
    "usr/bin/tool": "-rwxr-xr-x",
    "usr/secret": "-rw-r--r--",
    "var": "drwxr-xr-x",
    "var/open": "drwxr-xr-x",
}


@pytest.mark.usefixtures("debs")
def test_a_package_gives_nobody_rights(cache: Path, umask: int) -> None:
    seen.clear()
    place("1")
    assert modes(SHELF.root("1")) == HARMLESS
    assert 0o700 in seen, "nor while it is unpacked"
    assert (SHELF.root("1") / "var/link").is_symlink()
    assert {path.name for path in (cache / "shelf").iterdir()} == {"1"}
    for directory in (cache, cache / "shelf"):
        assert stat.filemode(directory.stat().st_mode) == "drwxr-xr-x"
    assert stat.filemode((cache / ".shelf.lock").stat().st_mode) == "-rw-------"


@pytest.mark.usefixtures("debs", "umask")
def test_files_of_the_cache_are_for_everybody_to_read_and_for_its_owner_to_write(cache: Path) -> None:
    path = keep_file("files", "a.cpio", lambda path: path.write_text("content"), 2)
    assert path.read_text() == "content"
    assert stat.filemode(path.stat().st_mode) == "-rw-r--r--"


def test_what_an_earlier_vtax_unpacked_is_made_harmless(cache: Path, debs: Path) -> None:
    for name in ("1", "2"):
        SHELF.root(name).mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", debs / "tool_1_all.deb", SHELF.root(name)], check=True)
    assert modes(SHELF.root("1"))[PROOF] == "-rwsr-sr-x"
    assert SHELF.newest() == "2"
    for name in ("1", "2"):
        assert modes(SHELF.root(name)) == {name: mode for name, mode in HARMLESS.items() if name != "made"}


def test_an_archive_is_what_the_verified_lists_name(cache: Path, debs: Path, commands: Path) -> None:
    """Whoever is apt's user can change an archive, as it comes and afterwards."""
    script = (commands / "apt-get").read_text()
    for attack, said in (
        ("printf x >> tool_1_all.deb", "does not have the hash that apt's lists have of it"),
        ("cp tool_1_all.deb x && ln -sf x tool_1_all.deb", "Too many levels of symbolic links"),
        ("rm tool_1_all.deb && mkfifo tool_1_all.deb", "does not have the hash that apt's lists have of it"),
        ("rm tool_1_all.deb", "tool_1_all.deb did not come"),
    ):
        (commands / "apt-get").write_text(
            script.replace(f"cp {debs}/*.deb .", f"cp {debs}/*.deb . && {attack}")
        )
        with pytest.raises(PlatformUnusable, match=said):
            place("1")
    (commands / "apt-get").write_text(script.replace("SHA256", "MD5Sum"))
    with pytest.raises(PlatformUnusable, match="0 of 1 have a strong hash in apt's lists"):
        place("1")
    assert list((cache / "shelf").iterdir()) == []


@pytest.mark.parametrize("shelf", ["", "shelf"])
@pytest.mark.parametrize("mode", [0o775, 0o757])
@pytest.mark.usefixtures("debs")
def test_a_cache_that_others_may_write_is_refused_by_name(cache: Path, shelf: str, mode: int) -> None:
    place("1")
    (cache / shelf).chmod(mode)
    for use in (lambda: place("2"), SHELF.newest, SHELF.cached, lambda: open_shelf("shelf")):
        with pytest.raises(
            PlatformUnusable, match=r"the cache cannot be trusted: .*may be written by"
        ) as refused:
            use()
        assert str(cache / shelf) in refused.value.reason
        assert f"needs {cache} removed" in refused.value.fix


def test_a_cache_in_a_directory_that_others_may_write_is_refused(cache: Path, tmp_path: Path) -> None:
    """They could put another in its place, but where a sticky bit keeps them from that, as in /tmp."""
    open_shelf()
    tmp_path.chmod(0o777)
    with pytest.raises(PlatformUnusable, match=f"{tmp_path} may be written by everybody"):
        open_shelf()
    if os.geteuid() == 0:
        tmp_path.chmod(0o1777)
        open_shelf()


def test_a_link_to_what_others_may_write_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    cache.symlink_to(tmp_path / "open")
    with pytest.raises(PlatformUnusable, match=f"{tmp_path}/open may be written by everybody"):
        open_shelf()


USE = """
import sys
from pathlib import Path
from vtax.platforms.cache import hold
print(hold(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def user_of(tree: Path) -> "subprocess.Popen[str]":
    """A process that uses a tree until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", USE, tree], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


@pytest.fixture
def forget() -> Iterator[None]:
    """Has no tree be this process's own in the end."""
    yield
    for descriptor in of_cache._held.values():
        os.close(descriptor)
    of_cache._held.clear()


def let_go(*names: str) -> None:
    """Has this process use trees no more, and the first of them be the one that was used the longest time ago."""
    for age, name in enumerate(reversed(names)):
        os.close(of_cache._held.pop(SHELF.root(name)))
        os.utime(SHELF.root(name) / HELD, (1000 - age, 1000 - age))


@pytest.mark.usefixtures("debs", "cache", "forget")
def test_the_trees_that_were_used_last_are_kept() -> None:
    names = [str(number) for number in range(KEEP)]
    place(*names)
    let_go(*names)
    assert hold(SHELF.root("0"))
    os.close(of_cache._held.pop(SHELF.root("0")))
    place("new")
    assert SHELF.cached() == ["0", *names[2:], "new"], "0 was used again"


@pytest.mark.usefixtures("debs", "cache", "forget")
def test_no_tree_that_is_used_is_removed() -> None:
    names = [str(number) for number in range(KEEP + 1)]
    place(*names)
    assert SHELF.cached() == names, "this process uses all"
    other = user_of(SHELF.root("0"))
    let_go(*names)
    place("new")
    assert SHELF.cached() == ["0", *names[-KEEP + 1 :], "new"]
    other.kill()
    other.communicate()
    place("newer")
    assert SHELF.cached() == [*names[-KEEP + 2 :], "new", "newer"]


@pytest.mark.usefixtures("debs", "forget")
def test_what_a_killed_process_left_half_done_goes(cache: Path) -> None:
    (cache / "shelf/tmpabc/tree/usr").mkdir(parents=True)
    place("1")
    assert SHELF.cached() == ["1"]
    assert [path.name for path in (cache / "shelf").iterdir()] == ["1"]


@pytest.mark.usefixtures("cache", "forget")
def test_a_tree_that_is_gone_is_not_held(debs: Path) -> None:
    place("1")
    SHELF.root("1").rename(debs / "elsewhere")
    assert not hold(SHELF.root("1"))
    place("1")
    assert hold(SHELF.root("1"))


def test_devices_go_and_nothing_outside_is_touched(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.write_text("another's")
    outside.chmod(0o4777)
    (tree / "link").symlink_to(outside)
    os.mkfifo(tree / "fifo")
    make_harmless(tree)
    assert [path.name for path in tree.iterdir()] == ["link"]
    assert stat.S_IMODE(outside.stat().st_mode) == 0o4777
