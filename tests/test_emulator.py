"""Versions of QEMU: the installed one and Debian's backport of a newer one, which is fetched and never installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.commands import KNOWN, command
from vtax.campaign.platform_set import probe, resolve
from vtax.platforms import PlatformUnusable
from vtax.platforms.emulator import PACKAGE, PACKAGES, find_emulator
from vtax.platforms.package import cache_directory
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.testbed.machines import OneMachine

OLD, NEW = f"{PACKAGE}=1:9.2.0-1~bpo12+1", f"{PACKAGE}=1:10.0.2-1~bpo12+1"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache but for kernels, which are large."""
    path, kernels = tmp_path / "cache", cache_directory() / "kernel"
    path.mkdir()
    (path / "kernel").symlink_to(kernels)
    monkeypatch.setenv("VTAX_CACHE", str(path))
    find_emulator.cache_clear()
    yield path
    find_emulator.cache_clear()


@pytest.fixture
def no_archive(commands: Path) -> None:
    """An apt that knows where packages are from, and cannot reach it."""
    command(commands, "apt-get", f"{KNOWN} *) echo 'E: Could not resolve' >&2; exit 100;; esac")


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


@pytest.mark.system
@pytest.mark.usefixtures("cache", "no_archive")
def test_a_version_that_cannot_be_had_leaves_out_its_cells_alone(scenario: Path) -> None:
    checked = load_scenario(scenario).override(
        platforms=["qemu-virtio"],
        sets=["version=installed,backports", "platform.accelerator=emulated", "intended_mbps=1"],
    )
    cells = checked.cells()
    platforms = resolve(checked, cells)
    probe(platforms, cells, OneMachine())
    ((refused, unusable),) = platforms.refused.items()
    assert "version=backports" in refused
    assert "backports can be had: E: Could not resolve" in unusable.reason
    assert platforms.skipped == {}
    assert platforms.probe_of(cells[0]).facts["version"] == platforms.facts("qemu-virtio")["version"]


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


@pytest.mark.system
@pytest.mark.platform
@pytest.mark.usefixtures("leaves_nothing")
def test_versions_are_measured_side_by_side(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--set", "version=installed,backports", "--set", "intended_mbps=1", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "qemu-virtio", *options, "--out", out)
    assert_measured(done)
    result = Result.open(out)
    installed, backport = result.campaign["platforms"]["qemu-virtio"]["facts"]["version"]
    assert installed == find_emulator("installed").version
    assert "bpo" in backport
    versions = result.query("SELECT DISTINCT version FROM trials ORDER BY ALL").to_pylist()
    assert [row["version"] for row in versions] == ["backports", "installed"]
