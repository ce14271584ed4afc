"""Debian's backport of a newer QEMU: fetched, taken from the cache, and never installed."""

from pathlib import Path

import pytest

from tests.helpers.commands import KNOWN, command
from vtax.platforms import PlatformUnusable
from vtax.platforms.emulator import PACKAGE, PACKAGES, find_emulator

OLD, NEW = f"{PACKAGE}=1:9.2.0-1~bpo12+1", f"{PACKAGE}=1:10.0.2-1~bpo12+1"


def unpacked(package: str, version: str) -> None:
    binary = PACKAGES.root(package) / PACKAGES.proof
    binary.parent.mkdir(parents=True)
    command(binary.parent, binary.name, f'echo "QEMU emulator version {version} at $QEMU_MODULE_DIR"')


@pytest.mark.usefixtures("cache", "no_archive")
def test_without_the_archive_the_newest_cached_one_runs_with_its_own_libraries() -> None:
    unpacked(NEW, "10.0.2")
    unpacked(OLD, "9.2.0")
    assert PACKAGES.cached() == [OLD, NEW]
    emulator = find_emulator("backports")
    tree = PACKAGES.root(NEW)
    assert emulator.version == f"10.0.2 at {tree}/usr/lib/x86_64-linux-gnu/qemu"
    assert ":" not in str(tree), "it stands in lists of paths"
    assert emulator.command[-4:] == ["-L", f"{tree}/usr/share/qemu", "-L", f"{tree}/usr/share/seabios"]


@pytest.mark.usefixtures("cache")
def test_without_package_lists_it_says_what_is_missing(commands: Path) -> None:
    command(commands, "apt-get", "exit 0")
    with pytest.raises(PlatformUnusable, match="can be had: no package lists of Debian"):
        find_emulator("backports")
    unpacked(NEW, "10.0.2")
    assert find_emulator("backports").version.startswith("10.0.2 at")


@pytest.mark.usefixtures("cache", "no_archive")
def test_apt_is_asked_for_what_the_emulator_needs_beside_it(commands: Path, cache: Path) -> None:
    inst = f"Inst seabios (1.16 suite)\\nInst {PACKAGE} [1:7.2] (1:9.2.0-1 suite [amd64])"
    refuses = 'echo "E: no $*" >&2; exit 100'
    command(commands, "apt-get", f"{KNOWN} *update) ;; *simulate*) printf '{inst}';; *) {refuses};; esac")
    with pytest.raises(
        PlatformUnusable, match=rf"downloading {PACKAGE}=1:9.2.0-1 and 1 beside it failed: E: no .*lists"
    ):
        find_emulator("backports")
    assert (cache / "apt/sources.list").read_text().endswith("-backports main\n")
    assert PACKAGES.cached() == []
