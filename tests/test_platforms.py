"""Platforms: what is set aside and why, what a failed start leaves, and which kernel guests get."""

import os
import select
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from vtax.campaign import platform_set
from vtax.machine.agent import AgentGone
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.machine.remedy import build_agent
from vtax.platforms import GuestNic, GuestPlan, PlatformUnusable, accelerator, container, load_kind
from vtax.platforms.accelerator import find_accelerator, remembered_accelerators
from vtax.platforms.container import told_version
from vtax.platforms.kernel import cached_packages, fetch_kernel
from vtax.scenario import load_scenario
from vtax.testbed.host import Host

OLD, NEW, NEWEST = (f"linux-image-6.1.0-{build}-amd64" for build in (9, 10, 11))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "cache"
    monkeypatch.setenv("VTAX_CACHE", str(path))
    fetch_kernel.cache_clear()
    yield path
    fetch_kernel.cache_clear()


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is looked in for commands before any other."""
    path = tmp_path / "commands"
    path.mkdir()
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    return path


def command(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


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
    assert cached_packages() == [OLD, NEW]


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
    assert unusable.value.remedy == f"apt-get update && apt-get download {NEW}"
    assert not list(cache.glob("kernel/*")), "nothing half done stays behind"
    command(commands, "apt-cache", "exit 100")
    with pytest.raises(PlatformUnusable, match="apt-get update"):
        fetch_kernel()


def test_a_broken_package_is_named(cache: Path, commands: Path) -> None:
    archive_that_names(commands, NEW)
    command(commands, "apt-get", "echo 'no archive' > kernel.deb")
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


def test_the_agent_must_have_been_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise FileNotFoundError("the agent is not built")

    monkeypatch.setattr("vtax.platforms.raw.agent_binary", missing)
    for kind in ("raw", "container", "qemu"):
        with pytest.raises(PlatformUnusable, match="the agent is not built") as unusable:
            load_kind(kind).Kind().check()
        assert unusable.value.remedy == build_agent()


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
    def fail(_self: object, _config: object) -> None:
        raise error

    monkeypatch.setattr(container.Kind, "prepare", fail)
    cells = load_scenario("quick").override(["raw", "container"], [], None, None).cells()
    platforms = platform_set.resolve(load_scenario("quick"), cells)
    platform_set.probe(platforms, cells)
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


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[GuestPlan]:
    """A plan for a container with one NIC at no port."""

    class NoPort:
        def attach(self, interface: str, guest_mac: str) -> None:
            pass

    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", tmp_path / "state")
    record.open()
    host = Namespace(f"{record.run}-host")
    record.add("namespace", name=host.name)
    host.create()
    nic = GuestNic("02:00:00:00:00:09", NoPort(), 1500)
    try:
        yield GuestPlan("guest", container.Config(runtime="runc"), [nic], host, [0], record)
    finally:
        record.clean()
        assert not record.failed


def interfaces(namespace: Namespace) -> set[str]:
    return namespace.netlink(lambda ip: {link.get_attr("IFLA_IFNAME") for link in ip.get_links()})


@pytest.mark.system
def test_a_failed_start_of_a_container_can_be_repeated(plan: GuestPlan, commands: Path) -> None:
    namespace = Namespace(f"{plan.record.run}-guest")

    command(commands, "runc", "echo 'container_linux.go: no such cgroup' >&2; exit 1")
    with pytest.raises(AgentGone, match=r"runc run exited 1: container_linux\.go: no such cgroup"):
        container.Kind().start(plan)
    assert not namespace.path.exists()
    assert interfaces(plan.host) == {"lo"}

    (commands / "runc").unlink()
    bundle = plan.scratch / "guest"
    (bundle / "config.json").unlink()
    (bundle / "config.json").mkdir()
    with pytest.raises(IsADirectoryError):
        container.Kind().start(plan)
    assert not namespace.path.exists()
    (bundle / "config.json").rmdir()

    for _ in range(2):
        guest = container.Kind().start(plan)
        assert guest.agent.call("ping") is not None
        assert interfaces(plan.host) == {"lo", "guestp0"}
        assert interfaces(namespace) == {"lo", "eth0"}
        guest.stop()
        assert not namespace.path.exists()
        assert interfaces(plan.host) == {"lo"}
    assert list((plan.scratch / "containers").iterdir()) == []


@pytest.mark.system
def test_an_emulator_ends_with_its_controller() -> None:
    """Also one that was started, but not written down yet."""
    controller = textwrap.dedent("""
        import os, signal, subprocess
        from vtax.platforms.qemu import BINARY, DIES_WITH_US
        emulator = [BINARY, "-nodefaults", "-display", "none", "-machine", "none", "-S", "-monitor", "stdio"]
        process = subprocess.Popen(
            [*DIES_WITH_US, "taskset", "--cpu-list", "0", *emulator],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
        )
        process.stdout.read(4)  # it is up
        print(process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run(
        [sys.executable, "-c", controller], check=False, stdout=subprocess.PIPE, text=True, timeout=60
    )
    pid = int(done.stdout)
    descriptor = _open_process(pid)
    if descriptor is not None:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        assert poller.poll(5000), "the emulator lives on"
        os.close(descriptor)


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


@pytest.mark.system
def test_a_host_goes_whatever_a_part_of_it_does(plan: GuestPlan) -> None:
    class StuckPort:
        def attach(self, interface: str, guest_mac: str) -> None:
            pass

        def close(self) -> None:
            raise OSError("stuck")

    class StuckGuest:
        def stop(self) -> None:
            raise RuntimeError("will not go")

    host = Host("uut", plan.record, {"agents": [0]})
    host.create()
    host.start_agent("sink", "agents")
    agent = host._agents["sink"]
    host._ports["port"] = StuckPort()  # type: ignore[assignment]
    host._guests["guest"] = StuckGuest()  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="will not go"):
        host.close()
    assert agent.process.poll() is not None
    assert not host.namespace.path.exists()
    host.close()
