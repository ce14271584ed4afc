"""Programs of guests with a file system of their own: packages, unpacked beneath each other and never out of place."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.commands import command, gives_away
from tests.helpers.cpio import archived
from tests.helpers.packages import build_package
from vtax.platforms import PlatformUnusable, userland
from vtax.platforms.cpio import tree_archive
from vtax.platforms.image import pack_image
from vtax.platforms.userland import USERLANDS, fetch_userland, follow

SIMULATED = "Inst libtool (1.0-2 Debian:12 [amd64]) []\\nInst tool [0.9] (2:1.5-1 Debian:12 [all])"
TOOL = {
    "bin/tool": ("#!/bin/sh\n", 0o4755),
    "lib/tool/data": ("data", 0o644),
    "usr/bin/notes": ("for everybody to read", 0o644),
    "usr/share/doc/tool/copyright": ("long", 0o644),
    "usr/share/man/man1/tool.1": ("longer", 0o644),
    "usr/share/tool/table": ("read by it", 0o644),
}
NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5)
TARGETS = st.tuples(st.sampled_from(["", "/", "/../../"]), STEPS).map(
    lambda parts: parts[0] + "/".join(parts[1])
)
TREES = st.lists(st.tuples(st.lists(NAMES, max_size=2), NAMES, st.none() | TARGETS), max_size=8)
"""Where a link or file is, its name, and where it leads; none for a file."""


@pytest.fixture
def archive(tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An apt that has two packages, one of which needs the other; it writes down what it is asked."""
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path / "cache"))
    debs = tmp_path / "debs"
    for name, files in {"tool": TOOL, "libtool": {"usr/lib/libtool.so.1": ("code", 0o644)}}.items():

        def lay(built: Path, files: dict[str, tuple[str, int]] = files) -> None:
            command(built / "DEBIAN", "postinst", f"touch {tmp_path}/installed")
            for path, (content, mode) in files.items():
                (built / path).parent.mkdir(parents=True, exist_ok=True)
                (built / path).write_text(content)
                (built / path).chmod(mode)
            (built / "etc").mkdir(exist_ok=True)

        build_package(name, tmp_path, debs, lay)
    asked = tmp_path / "asked"
    known = f"*--simulate*) printf '{SIMULATED}';; {gives_away(debs)}"
    command(commands, "apt-get", f'echo "$*" >> {asked}; case "$*" in {known} esac')
    userland._fetch.cache_clear()
    yield asked
    userland._fetch.cache_clear()


@pytest.mark.usefixtures("archive")
def test_packages_are_laid_out_as_if_installed_and_without_what_nobody_reads(tmp_path: Path) -> None:
    made = fetch_userland(["tool"])
    assert made.root is not None
    assert made.packages == ("libtool=1.0-2", "tool=2:1.5-1")
    assert made.facts == {"package libtool": "1.0-2", "package tool": "2:1.5-1"}
    inside = dict(archived(made.archive))
    assert (inside["bin"], inside["lib"]) == (b"usr/bin", b"usr/lib")
    assert inside["usr/bin/tool"] == b"#!/bin/sh\n"
    assert (inside["usr/lib/tool/data"], inside["usr/lib/libtool.so.1"]) == (b"data", b"code")
    assert inside["usr/share/tool/table"] == b"read by it"
    assert not any(name.startswith(("usr/share/doc", "usr/share/man")) for name in inside)
    assert b"nobody:x:65534:" in inside["etc/passwd"]
    assert not (tmp_path / "installed").exists(), "no script of a package runs"
    assert made.memory_bytes % (1 << 20) == 0
    assert made.memory_bytes >= 2 * len(made.archive)
    assert [place.name for place in made.top] == ["bin", "etc", "lib", "usr"]


def test_what_is_installed_here_counts_for_nothing_and_what_is_cached_is_not_fetched_again(
    archive: Path, commands: Path
) -> None:
    first = fetch_userland(["tool"])
    simulated, listed, downloaded = archive.read_text().splitlines()
    assert "Dir::State::status=/dev/null" in simulated
    assert simulated.endswith(
        "--simulate --no-install-recommends install coreutils dash lsb-base usr-is-merged tool"
    )
    assert listed.endswith("--print-uris download libtool=1.0-2 tool=2:1.5-1")
    assert downloaded.endswith("download libtool=1.0-2 tool=2:1.5-1")
    userland._fetch.cache_clear()
    assert fetch_userland(["tool"]) == first
    assert len(archive.read_text().splitlines()) == 4
    userland._fetch.cache_clear()
    command(
        commands, "apt-get", "case \"$*\" in *--simulate*) echo 'Inst tool (1.6 [all])';; *) exit 100;; esac"
    )
    with pytest.raises(PlatformUnusable, match=r"downloading tool=1\.6 failed"):
        fetch_userland(["tool"])
    assert len(USERLANDS.cached()) == 1, "another version is other content"


def test_a_package_that_is_unknown_is_named(archive: Path, commands: Path) -> None:
    command(commands, "apt-get", "echo 'E: Unable to locate package tol' >&2; exit 100")
    with pytest.raises(PlatformUnusable, match="can be had: E: Unable to locate package tol") as unusable:
        fetch_userland(["tol"])
    assert unusable.value.fix == "apt-get update && apt-get --simulate install tol"


@pytest.mark.parametrize("link", ["etc", "usr/share", "usr/lib", "userland.cpio"])
def test_no_package_has_the_host_changed(tmp_path: Path, link: str) -> None:
    """By a link where its tree is changed."""
    tree, host = tmp_path / "tree", tmp_path / "host"
    (host / "doc").mkdir(parents=True)
    (host / "hosts").write_text("the host's own")
    (tree / link).parent.mkdir(parents=True)
    (tree / link).symlink_to(host)
    with pytest.raises(ValueError, match=f"{link} is a link"):
        USERLANDS.finish(tree)
    assert (host / "hosts").read_text() == "the host's own"
    assert (host / "doc").is_dir()


def test_without_programs_nothing_is_asked_for(commands: Path) -> None:
    command(commands, "apt-get", "exit 100")
    nothing = fetch_userland(None)
    assert (nothing.archive, nothing.memory_bytes, nothing.facts, nothing.top) == (b"", 0, {}, [])
    assert not nothing.has("sh")


@pytest.mark.usefixtures("archive")
def test_programs_are_found_where_the_agent_looks(tmp_path: Path) -> None:
    made = fetch_userland(["tool"])
    assert made.root is not None
    (made.root / "usr/bin/short").symlink_to("/bin/tool")
    (made.root / "usr/bin/circle").symlink_to("circle")
    assert made.has("tool")
    assert made.has("/bin/tool")
    assert made.has("short")
    for lacking in ("notes", "circle", "/etc/passwd", "libtool", f"/../{tmp_path}", "x" * 4000, "\0"):
        assert not made.has(lacking), lacking


def planted(root: Path, tree: list[tuple[list[str], str, str | None]]) -> None:
    """Links and files in a tree, but for what does not go together with earlier ones."""
    for parents, name, target in tree:
        directory = root
        for parent in parents:
            directory /= parent
            if not directory.is_symlink() and not directory.exists():
                directory.mkdir()
            if directory.is_symlink() or not directory.is_dir():
                break
        else:
            if not os.path.lexists(directory / name):
                if target is None:
                    (directory / name).write_text("inside")
                else:
                    (directory / name).symlink_to(target)


@given(TREES, TARGETS)
def test_no_link_leads_out_of_a_tree(tree: list[tuple[list[str], str, str | None]], path: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        outside, root = Path(scratch), Path(scratch) / "a/tree"
        root.mkdir(parents=True)
        for name in ("b", "c"):
            (outside / name).write_text("outside")
        planted(root, tree)
        found = follow(root, path)
        if found is not None:
            assert root in (found, *found.parents)
            assert ".." not in found.parts
            assert not found.is_symlink()
        for name, content in archived(tree_archive(root)):
            assert not name.startswith("/")
            assert ".." not in Path(name).parts
            assert b"outside" not in content
            assert os.path.lexists(root / name)


@pytest.mark.usefixtures("archive", "able")
def test_no_package_replaces_the_agent() -> None:
    """The kernel unpacks archives in their order, and what comes later stays."""
    made = fetch_userland(["tool"])
    alone, both = pack_image({}).read_bytes(), pack_image({}, made).read_bytes()
    assert both == made.archive + alone
    assert "init" in dict(archived(alone))
