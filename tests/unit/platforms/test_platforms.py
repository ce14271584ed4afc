"""Platforms: what is set aside and why, and which kernel guests get."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import command, gives_away
from vtax.campaign import platform_set
from vtax.machine.cgroups import find_mixture
from vtax.machine.fix import build_agent
from vtax.platforms import (
    PlatformUnusable,
    accelerator,
    container,
    load_kind,
    oci,
)
from vtax.platforms.accelerator import find_accelerator, remembered_accelerators
from vtax.platforms.container import told_version
from vtax.platforms.kernel import KERNELS, fetch_kernel
from vtax.platforms.oci import runtime_command
from vtax.platforms.preset import kinds
from vtax.scenario import load_scenario
from vtax.testbed.machines import OneMachine

OLD, NEW, NEWEST = (f"linux-image-6.1.0-{build}-amd64" for build in (9, 10, 11))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "cache"
    monkeypatch.setenv("VTAX_CACHE", str(path))
    fetch_kernel.cache_clear()
    yield path
    fetch_kernel.cache_clear()


def archive_that_names(commands: Path, package: str) -> None:
    """Package lists that know of a package which the archive does not give away."""
    command(commands, "apt-cache", f"echo '  Depends: {package}'")
    command(commands, "apt-get", "echo 'E: Failed to fetch the package' >&2; exit 100")


def unpacked(cache: Path, *packages: str) -> None:
    for package in packages:
        root = cache / "kernel" / package
        (root / "lib/modules" / package.removeprefix("linux-image-")).mkdir(parents=True)
        (root / "vmlinux").touch()


def test_versions_are_numbers(cache: Path) -> None:
    unpacked(cache, NEW, OLD)
    assert KERNELS.cached() == [OLD, NEW]


def test_a_kernel_that_cannot_be_had_gives_way_to_the_newest_cached(
    cache: Path, commands: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive_that_names(commands, NEWEST)
    unpacked(cache, NEW, OLD)
    assert fetch_kernel().version == "6.1.0-10-amd64"
    assert f"downloading {NEWEST} failed: E: Failed to fetch the package" in caplog.text


def test_the_archives_kernel_is_used_where_it_is_cached(cache: Path, commands: Path) -> None:
    archive_that_names(commands, OLD)
    unpacked(cache, NEW, OLD)
    assert fetch_kernel().version == "6.1.0-9-amd64"


def test_without_lists_the_newest_cached_kernel_is_used(cache: Path, commands: Path) -> None:
    command(commands, "apt-cache", "exit 100")
    unpacked(cache, NEW, OLD)
    assert fetch_kernel().version == "6.1.0-10-amd64"


def test_without_any_kernel_it_says_what_to_do(cache: Path, commands: Path) -> None:
    archive_that_names(commands, NEW)
    with pytest.raises(PlatformUnusable, match="E: Failed to fetch the package") as unusable:
        fetch_kernel()
    assert unusable.value.fix == f"apt-get update && apt-get download {NEW}"
    assert not list(cache.glob("kernel/*")), "nothing half done stays behind"
    command(commands, "apt-cache", "exit 100")
    with pytest.raises(PlatformUnusable, match="apt-get update"):
        fetch_kernel()


def test_a_broken_package_is_named(cache: Path, commands: Path, tmp_path: Path) -> None:
    archive_that_names(commands, NEW)
    (tmp_path / "debs").mkdir()
    (tmp_path / "debs/kernel.deb").write_text("no archive")
    command(commands, "apt-get", f'case "$*" in {gives_away(tmp_path / "debs")} esac')
    with pytest.raises(PlatformUnusable, match=f"unpacking {NEW} failed: dpkg-deb: error: .* archive"):
        fetch_kernel()


def test_a_cache_that_cannot_be_filled_says_so(cache: Path, commands: Path) -> None:
    archive_that_names(commands, NEW)
    cache.write_text("a file where the directory should be")
    with pytest.raises(PlatformUnusable, match=r"cannot fill the cache.*VTAX_CACHE"):
        fetch_kernel()


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 0", "it says nothing"), ("echo no library >&2; exit 127", "exited 127: no library")],
)
def test_a_command_without_a_version_is_unusable(commands: Path, script: str, said: str) -> None:
    command(commands, "runc", script)
    with pytest.raises(PlatformUnusable, match=said):
        told_version(str(commands / "runc"), "runc")


@pytest.mark.usefixtures("able")
def test_the_agent_must_have_been_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise FileNotFoundError("the agent is not built")

    monkeypatch.setattr("vtax.platforms.raw.agent_binary", missing)
    for kind in map(load_kind, kinds()):
        with pytest.raises(PlatformUnusable, match="the agent is not built") as unusable:
            kind.Kind().check(kind.Config())
        assert unusable.value.fix == build_agent()


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    "error",
    [
        PlatformUnusable("there is none", "get one"),
        OSError(28, "No space left on device"),
        subprocess.TimeoutExpired("runc", 10),
        subprocess.CalledProcessError(2, "dpkg-deb"),
        IndexError("list index out of range"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_fails_its_probe_is_set_aside(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: object, _config: object, _packages: object) -> None:
        raise error

    monkeypatch.setattr(container.Kind, "prepare", fail)
    cells = load_scenario("quick").override(["raw", "container"], [], None, None).cells()
    platforms = platform_set.resolve(load_scenario("quick"), cells)
    platform_set.probe(platforms, cells, OneMachine())
    assert "raw" in platforms.probes
    skipped = platforms.as_json()["container"]["skipped"]
    expected = error.reason if isinstance(error, PlatformUnusable) else f"{type(error).__name__}: {error}"
    assert skipped["reason"] == expected
    assert skipped["remedy"]


def test_what_a_boot_has_shown_is_remembered(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "DEVICE", Path("/dev/null"))  # any device that can be opened
    assert remembered_accelerators() == {}
    assert find_accelerator("9.1 6.1.0", lambda _limit_s: False) == "emulated"
    assert find_accelerator("9.1 6.1.0", lambda _limit_s: True) == "emulated", "no second boot"
    assert find_accelerator("9.1 6.2.0", lambda _limit_s: True) == "kvm"
    assert remembered_accelerators() == {"9.1 6.1.0": "emulated", "9.1 6.2.0": "kvm"}


V1 = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"


@pytest.fixture
def mixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mount table of a machine whose version 1 has no other controller than cpuset."""
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified/cgroup.controllers").write_text("memory\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"{V1}cgroup2 {tmp_path}/unified cgroup2 rw 0 0\n")
    monkeypatch.setattr(oci, "find_mixture", lambda: find_mixture(tmp_path, mounts))
    return mounts


def test_cgroup2_is_hidden_only_from_who_refuses_it(mixture: Path, commands: Path, tmp_path: Path) -> None:
    command(commands, "runc", "exit 0")
    command(commands, "crun", "exit 0")
    unified, plain = str(tmp_path / "unified"), [str(commands / "crun"), "--root", "/state"]
    assert runtime_command("runc", Path("/state"))[0] == str(commands / "runc")
    hidden = runtime_command("crun", Path("/state"))
    assert hidden[0] == "unshare"
    assert hidden[-4:] == [unified, *plain]

    (tmp_path / "unified/cgroup.controllers").write_text("")
    assert runtime_command("crun", Path("/state")) == plain, "nothing is controlled there"
    (tmp_path / "unified/cgroup.controllers").write_text("cpuset memory")
    mixture.write_text(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert runtime_command("crun", Path("/state")) == plain, "all is version 2"


@pytest.mark.usefixtures("able")
def test_a_limit_that_would_be_passed_over_is_refused(
    mixture: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(commands, "crun", "echo crun 1")
    command(commands, "runc", "echo runc 1")
    limited, unlimited = {"memory_bytes": 64 << 20}, {}
    kind = container.Kind()
    for config in ({"runtime": "runc", **limited}, {"runtime": "crun", **unlimited}):
        kind.check(container.Config(**config))
    with pytest.raises(PlatformUnusable, match="crun cannot limit memory here") as unusable:
        kind.check(container.Config(runtime="crun", **limited))
    assert "runc" in unusable.value.fix


@pytest.mark.usefixtures("able")
def test_a_runtime_is_missed_by_who_asks_for_it(
    tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(commands))
    command(commands, "crun", "exit 0")
    container.Kind().check(container.Config(runtime="crun"))
    with pytest.raises(PlatformUnusable, match="no runc command found"):
        container.Kind().check(container.Config(runtime="runc"))
