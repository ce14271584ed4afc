"""Platforms: what is set aside and why, what a failed start leaves, and which kernel guests get."""

import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.commands import command
from tests.helpers.namespaces import interfaces
from vtax.campaign import platform_set
from vtax.machine.agent import AgentGone
from vtax.machine.cgroups import find_mixture
from vtax.machine.namespace import Namespace
from vtax.machine.remedy import build_agent
from vtax.platforms import (
    GuestPlan,
    PlatformUnusable,
    accelerator,
    container,
    load_kind,
    oci,
    qemu,
)
from vtax.platforms.accelerator import find_accelerator, remembered_accelerators
from vtax.platforms.container import told_version
from vtax.platforms.kernel import KERNELS, fetch_kernel
from vtax.platforms.oci import runtime_command
from vtax.platforms.preset import kinds
from vtax.scenario import load_scenario
from vtax.testbed.host import Host
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


@pytest.mark.usefixtures("able")
def test_the_agent_must_have_been_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise FileNotFoundError("the agent is not built")

    monkeypatch.setattr("vtax.platforms.raw.agent_binary", missing)
    for kind in map(load_kind, kinds()):
        with pytest.raises(PlatformUnusable, match="the agent is not built") as unusable:
            kind.Kind().check(kind.Config())
        assert unusable.value.remedy == build_agent()


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
    assert "runc" in unusable.value.remedy


@pytest.mark.usefixtures("able")
def test_a_runtime_is_missed_by_who_asks_for_it(
    tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(commands))
    command(commands, "crun", "exit 0")
    container.Kind().check(container.Config(runtime="crun"))
    with pytest.raises(PlatformUnusable, match="no runc command found"):
        container.Kind().check(container.Config(runtime="runc"))


@pytest.mark.system
@pytest.mark.parametrize("runtime", ["runc", "crun"])
def test_a_failed_start_of_a_container_can_be_repeated(runtime: str, plan: GuestPlan, commands: Path) -> None:
    plan = replace(plan, config=container.Config(runtime=runtime))
    namespace = Namespace(f"{plan.record.run}-guest")

    command(commands, runtime, "echo 'container_linux.go: no such cgroup' >&2; exit 1")
    with pytest.raises(AgentGone, match=rf"{runtime} run exited 1: container_linux\.go: no such cgroup"):
        container.Kind().start(plan)
    assert not namespace.path.exists()
    assert interfaces(plan.host) == {"lo"}

    (commands / runtime).unlink()
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
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{namespace.name}"))


@pytest.mark.system
@pytest.mark.parametrize("runtime", ["runc", "crun"])
def test_a_container_has_the_cpus_and_the_memory_it_was_given(runtime: str, plan: GuestPlan) -> None:
    config = container.Config(runtime=runtime, memory_bytes=64 << 20)
    guest = container.Kind().start(replace(plan, config=config))
    try:
        limits = {
            limit.read_text().strip()
            for name in ("cpuset.cpus", "memory.limit_in_bytes", "memory.max")
            for limit in Path("/sys/fs/cgroup").glob(f"**/{plan.record.run}-guest/{name}")
        }
    finally:
        guest.stop()
    assert limits == {"0", str(64 << 20)}


@pytest.mark.system
@pytest.mark.usefixtures("leaves_nothing")
def test_eight_emulators_are_up_at_once(plan: GuestPlan) -> None:
    """Each of the least memory that a guest may have, booted while the others boot."""
    config = qemu.Config(memory_bytes=128 << 20)
    qemu.Kind().prepare(config)
    everywhere = replace(plan, config=config, cpus=sorted(os.sched_getaffinity(0)))
    plans = [replace(everywhere, name=f"guest{number}") for number in range(8)]
    # An emulator ends with the thread that started it: the threads live as long as the guests.
    with ThreadPoolExecutor(len(plans)) as starting:
        guests = list(starting.map(qemu.Kind().start, plans))
        assert all(guest.agent.call("ping") is not None for guest in guests)
        assert all("vcpu 0" in {name for _, name in guest.threads().values()} for guest in guests)
        assert interfaces(plan.host) == {"lo", *(f"{each.name}p0" for each in plans)}
        resident = [resident_bytes(guest.pid) for guest in guests]
        assert max(resident) < 2.5 * config.memory_bytes
        for guest in guests:
            guest.stop()
    assert not any(Path(f"/proc/{guest.pid}").exists() for guest in guests)
    assert interfaces(plan.host) == {"lo"}


def resident_bytes(pid: int) -> int:
    """Memory that a process holds (proc(5), statm)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.system
def test_an_emulator_ends_with_its_controller() -> None:
    """Also one that was started, but not written down yet."""
    controller = textwrap.dedent("""
        import os, signal, subprocess
        from vtax.platforms.emulator import BINARY
        from vtax.platforms.launch import DIES_WITH_US
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
        lower = None
        offloads = True

        def attach(self, interface: str, guest_mac: str) -> None:
            pass

        def close(self) -> None:
            raise OSError("stuck")

    class StuckGuest:
        def stop(self) -> None:
            raise RuntimeError("will not go")

    host = Host("uut", plan.record, {"agents": [0], "host": [0]})
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
