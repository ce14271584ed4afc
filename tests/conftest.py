"""What system tests share: a footprint of this machine, so that a test can show that nothing was left behind.

And what tests of a platform need: a plan for a guest, and commands that stand in front of the real ones.
"""

import contextlib
import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.disturb import Act
from vtax.campaign import clean_host
from vtax.inputs import InputError
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import GuestNic, GuestPlan, container, lxc
from vtax.testbed.host import Host

# A busy machine is no fault of an example; hangs are ended by the test's own time limit.
settings.register_profile("default", deadline=None)
# What `make fuzz` runs the tests marked `fuzz` with.
settings.register_profile("fuzz", max_examples=2000, deadline=None)
settings.load_profile("default")


def footprint() -> dict[str, set[str]]:
    """Everything on this machine that a run makes: namespaces, links, processes, scratch files, latency requests."""
    return {
        "namespaces": _names("/run/netns"),
        "links": _names("/sys/class/net"),
        "scratch": _names("/run/vtax") - {"lock"},
        "LXC's locks": {str(path) for path in lxc.LOCKS.glob("**/vtax*")},
        "processes": {
            _command(process)
            for process in Path("/proc").glob("[0-9]*")
            if any(ours in _command(process) for ours in ("vtax-agent", "/run/vtax/", "guest=vtax-"))
        },
        "cgroups": {str(path) for path in Path("/sys/fs/cgroup").glob("**/vtax-*") if path.is_dir()},
        "mounts": {
            line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "vtax" in line
        },
        "programs": _bpf("prog"),
        "maps": _bpf("map"),
        "latency": {
            str(process)
            for process in Path("/proc").glob("[0-9]*")
            if any(_target(handle) == "/dev/cpu_dma_latency" for handle in _handles(process))
        },
    }


def settles(expected: dict[str, set[str]], patience_s: float = 5.0) -> bool:
    """Whether the machine comes back to a footprint: the kernel frees programs and maps some time after their end."""
    deadline = time.monotonic() + patience_s
    while footprint() != expected:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _bpf(kind: str) -> set[str]:
    listed = subprocess.run(["bpftool", "-j", kind, "show"], check=True, capture_output=True, text=True)
    return {f"{item['id']} {item.get('name')}" for item in json.loads(listed.stdout or "[]") if "id" in item}


def _handles(process: Path) -> list[Path]:
    try:
        return list((process / "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def _target(handle: Path) -> str:
    try:
        return os.readlink(handle)  # noqa: PTH115 - a target as the kernel words it
    except OSError:
        return ""


def _names(directory: str) -> set[str]:
    path = Path(directory)
    return set(os.listdir(path)) if path.exists() else set()  # noqa: PTH208 - names are all that is wanted


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture(autouse=True)
def _a_terminal_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs the tests: what is drawn depends on this name of a terminal."""
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_by_the_dead() -> None:
    """Removes what runs that were killed have left, so that no test finds it and no test's footprint has it."""
    if os.geteuid() == 0:
        with contextlib.suppress(InputError):  # a campaign is running: tests that mind say so
            clean_host()


@pytest.fixture
def leaves_nothing() -> Iterator[None]:
    """Fails the test that uses it when the machine differs afterwards."""
    before = footprint()
    yield
    if not settles(before):
        assert footprint() == before


SCENARIO = """
name: test/forwarding
title: A test
question: Do frames come through?
workload: {kind: forwarding, warmup_s: 0.1, duration_s: 0.3, streams: 1, frame_bytes: 64}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [raw, container]
  intended_mbps: [5, max]
repetitions: 2
figures: [throughput-by-load, maximum-by-streams]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is looked in for commands before any other."""
    path = tmp_path / "commands"
    path.mkdir()
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[GuestPlan]:
    """A plan for a guest with one NIC at no port; `replace` gives it another kind's configuration."""

    class NoPort:
        lower = None
        offloads = True

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
    """The names of a namespace's interfaces."""
    return namespace.netlink(lambda ip: {link.get_attr("IFLA_IFNAME") for link in ip.get_links()})


@pytest.fixture
def in_the_trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Act], None]]:
    """Has something done once, amid the first measurement."""
    counters = Host.counters
    acts: list[Act] = []

    def disturbed(self: Host, cpus: list[int]) -> dict[str, Any]:
        sample = counters(self, cpus)
        if cpus and acts:
            acts.pop()(self.namespace.name.removesuffix("-uut"))
        return sample

    monkeypatch.setattr(Host, "counters", disturbed)
    yield acts.append
    assert acts == [], "no trial came so far"
