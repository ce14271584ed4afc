"""Platforms: what a failed start leaves, what a guest is given, and what it ends with."""

import os
import select
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.commands import command
from tests.helpers.namespaces import interfaces
from vtax.machine.agent import AgentGone
from vtax.machine.namespace import Namespace
from vtax.platforms import (
    GuestPlan,
    container,
    qemu,
)
from vtax.testbed.host import Host

pytestmark = pytest.mark.system


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
        guest.agent.api.ping()
        assert interfaces(plan.host) == {"lo", "guestp0"}
        assert interfaces(namespace) == {"lo", "eth0"}
        guest.stop()
        assert not namespace.path.exists()
        assert interfaces(plan.host) == {"lo"}
    assert list((plan.scratch / "containers").iterdir()) == []
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{namespace.name}"))


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


@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("leaves_nothing")
def test_eight_emulators_are_up_at_once(plan: GuestPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the least memory that a guest may have, booted while the others boot."""
    monkeypatch.setattr(qemu, "HELLO_TIMEOUT_S", 600.0)
    config = qemu.Config(memory_bytes=128 << 20)
    qemu.Kind().prepare(config)
    everywhere = replace(plan, config=config, cpus=sorted(os.sched_getaffinity(0)))
    plans = [replace(everywhere, name=f"guest{number}") for number in range(8)]
    # An emulator ends with the thread that started it: the threads live as long as the guests.
    with ThreadPoolExecutor(len(plans)) as starting:
        guests = list(starting.map(qemu.Kind().start, plans))
        for guest in guests:
            guest.agent.api.ping()
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
        assert poller.poll(60_000), "the emulator lives on"
        os.close(descriptor)


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


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
