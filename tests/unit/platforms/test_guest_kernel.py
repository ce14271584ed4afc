"""The kernel inside a QEMU guest: the distribution's, and that of its backports, fetched and never installed."""

from pathlib import Path

import pytest

from tests.helpers.commands import KNOWN, command
from vtax.platforms import PlatformUnusable, qemu
from vtax.platforms.kernel import BACKPORTED, KERNELS, fetch_kernel
from vtax.platforms.package import Shelf

OLD, NEW = "linux-image-6.9.7+deb12-amd64", "linux-image-6.12.95+deb12-amd64"


def unpacked(shelf: Shelf, *packages: str) -> None:
    for package in packages:
        root = shelf.root(package)
        (root / "lib/modules" / package.removeprefix("linux-image-")).mkdir(parents=True)
        (root / "vmlinux").touch()


@pytest.mark.usefixtures("cache", "no_archive")
def test_without_the_archive_the_newest_cached_one_of_its_own_origin_is_taken() -> None:
    unpacked(BACKPORTED, NEW, OLD)
    with pytest.raises(PlatformUnusable, match="no linux-image-amd64 package is known"):
        fetch_kernel("distribution")
    unpacked(KERNELS, "linux-image-6.1.0-9-amd64")
    assert fetch_kernel("distribution").version == "6.1.0-9-amd64"
    assert fetch_kernel("backports").version == "6.12.95+deb12-amd64"


@pytest.mark.usefixtures("cache")
def test_without_package_lists_it_says_what_is_missing(commands: Path) -> None:
    command(commands, "apt-get", "exit 0")
    with pytest.raises(PlatformUnusable, match="can be had: no package lists of Debian"):
        fetch_kernel("backports")


@pytest.mark.usefixtures("cache")
def test_backports_without_a_kernel_are_named(commands: Path) -> None:
    command(commands, "apt-get", f"{KNOWN} esac")
    command(commands, "apt-cache", "exit 100")
    with pytest.raises(PlatformUnusable, match="-backports can be had: its package lists name no kernel"):
        fetch_kernel("backports")


def test_apt_is_asked_with_lists_of_the_backports(commands: Path, cache: Path) -> None:
    command(commands, "apt-get", f'{KNOWN} *update) ;; *) echo "E: no $*" >&2; exit 100;; esac')
    command(
        commands, "apt-cache", f'case "$*" in *{cache}/apt/lists*-backports*) echo " Depends: {NEW}";; esac'
    )
    with pytest.raises(PlatformUnusable) as unusable:
        fetch_kernel("backports")
    assert unusable.value.reason.startswith(f"downloading {NEW} failed: E: no ")
    assert f"{cache}/apt/lists" in unusable.value.reason
    assert (cache / "apt/sources.list").read_text().endswith("-backports main\n")


@pytest.mark.usefixtures("cache", "no_archive")
@pytest.mark.parametrize(("origin", "shelf"), [("distribution", KERNELS), ("backports", BACKPORTED)])
def test_the_kernel_that_a_cell_has_is_asked_for_protocols(origin: str, shelf: Shelf) -> None:
    unpacked(shelf, NEW)
    with pytest.raises(PlatformUnusable, match=r"kernel 6\.12\.95\S+ has no module sctp"):
        qemu.Kind().check_protocols(qemu.Config(kernel=origin), ["sctp"])
