"""The kernel inside a QEMU guest: the distribution's, and that of its backports, fetched and never installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.commands import KNOWN, command
from vtax.campaign.platform_set import probe, resolve
from vtax.platforms import PlatformUnusable, qemu
from vtax.platforms.kernel import BACKPORTED, KERNELS, fetch_kernel
from vtax.platforms.package import Shelf, cache_directory
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.testbed.machines import OneMachine

OLD, NEW = "linux-image-6.9.7+deb12-amd64", "linux-image-6.12.95+deb12-amd64"


@pytest.fixture
def kernels() -> Path:
    """Where the distribution's kernels are before a test has a cache of its own: they are large."""
    return cache_directory() / KERNELS.name


@pytest.fixture
def cache(kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache."""
    path = tmp_path / "cache"
    monkeypatch.setenv("VTAX_CACHE", str(path))
    fetch_kernel.cache_clear()
    yield path
    fetch_kernel.cache_clear()


@pytest.fixture
def no_archive(commands: Path) -> None:
    """An apt that knows where packages are from, and cannot reach it."""
    command(commands, "apt-get", f"{KNOWN} *) echo 'E: Could not resolve' >&2; exit 100;; esac")
    command(commands, "apt-cache", "exit 100")


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


@pytest.mark.system
@pytest.mark.usefixtures("no_archive")
def test_a_kernel_that_cannot_be_had_leaves_out_its_cells_alone(
    scenario: Path, kernels: Path, cache: Path
) -> None:
    cache.mkdir()
    (cache / KERNELS.name).symlink_to(kernels)
    checked = load_scenario(scenario).override(
        platforms=["qemu-virtio"],
        sets=["platform.kernel=distribution,backports", "platform.accelerator=emulated", "intended_mbps=1"],
    )
    cells = checked.cells()
    platforms = resolve(checked, cells)
    probe(platforms, cells, OneMachine())
    ((refused, unusable),) = platforms.refused.items()
    assert "platform.kernel=backports" in refused
    assert "backports can be had: E: Could not resolve" in unusable.reason
    assert platforms.skipped == {}
    assert platforms.facts("qemu-virtio")["guest_kernel"] == fetch_kernel("distribution").version


@pytest.mark.system
@pytest.mark.parametrize("origin", ["distribution", "backports"])
def test_both_have_what_guests_may_be_asked_for(origin: str) -> None:
    kernel = fetch_kernel(origin)
    drivers = [
        qemu.Config(nic_model=model).driver
        for model in qemu.Config.model_fields["nic_model"].annotation.__args__
    ]
    modules = [*drivers, "sch_netem", "sch_tbf", "sctp", "8021q", "pktgen"]
    assert all(kernel.load_order(module) for module in modules)
    assert kernel.load_order("ipv6") == [], "it is built in"


@pytest.mark.system
@pytest.mark.platform
@pytest.mark.usefixtures("leaves_nothing")
def test_kernels_are_measured_side_by_side(scenario: Path, tmp_path: Path) -> None:
    """In guests of the least memory that there is."""
    out = tmp_path / "out"
    options = ["--set", "platform.kernel=distribution,backports", "--set", f"memory_bytes={128 << 20}"]
    options += ["--set", "intended_mbps=1", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "qemu-virtio", *options, "--out", out)
    assert_measured(done)
    result = Result.open(out)
    distribution, backport = result.campaign["platforms"]["qemu-virtio"]["facts"]["guest_kernel"]
    assert distribution == fetch_kernel("distribution").version
    assert "+deb" in backport
    rows = result.query(
        'SELECT DISTINCT "platform.kernel" AS kernel, frames_received > 0 AS forwards, frames_lost '
        "FROM trials JOIN flows USING (trial_id) ORDER BY ALL"
    ).to_pylist()
    assert rows == [
        {"kernel": "backports", "forwards": True, "frames_lost": 0},
        {"kernel": "distribution", "forwards": True, "frames_lost": 0},
    ]
