"""Weights of the host's packet work against guests: the scheduler keeps to them, and they leave nothing."""

import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.disturb import Act
from tests.helpers.footprint import footprint
from vtax.cli import main
from vtax.machine.cpu import ThreadTime, thread_time
from vtax.machine.ingress import thread_ingress
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.machine.weight import CpuController, can_be_enabled, find_cpu_controller
from vtax.platforms import PlatformUnusable, egress_qdisc, uml
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.results import Result
from vtax.testbed.link import LinkEnd, make_link

CONTROLLER = find_cpu_controller()
weighs = pytest.mark.skipif(CONTROLLER is None, reason="cgroups cannot have weights of CPU time here")
MACS = "02:00:00:00:00:01", "02:00:00:00:00:02"
FLOOD = """
import contextlib, socket
frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
frames.bind(("src", 0))
while True:
    with contextlib.suppress(OSError):  # the far ring is full
        frames.send(bytes.fromhex("0200000000020200000000010800") + bytes(50))
"""
LISTENERS = 400
"""Sockets that each frame is copied to, so that one CPU sends what another cannot take."""


def test_either_version_of_cgroups_is_found(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"cgroup {tmp_path} cgroup rw,relatime,cpu,cpuacct 0 0\n")
    assert find_cpu_controller(tmp_path, mounts) == CpuController(tmp_path, "cpu.shares", 1024)

    mounts.write_text(f"cgroup2 {tmp_path} cgroup2 rw,relatime 0 0\n")
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    assert find_cpu_controller(tmp_path, mounts) is None
    assert can_be_enabled(tmp_path)
    (tmp_path / "cgroup.subtree_control").write_text("memory cpu\n")
    assert find_cpu_controller(tmp_path, mounts) == CpuController(tmp_path, "cpu.weight", 100)


def test_a_weight_that_cannot_be_had_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_qdisc, "find_cpu_controller", lambda: None)
    GuestConfig().check_scheduling()
    assert GuestConfig().facts == {"host_weight": 1, "weighed_by": None, "pinned": False}
    monkeypatch.setattr(egress_qdisc, "can_be_enabled", lambda: True)
    with pytest.raises(PlatformUnusable, match="host_weight=32, but cgroups cannot") as refused:
        GuestConfig(host_weight=32).check_scheduling()
    assert refused.value.remedy.startswith("echo +cpu > ")


@pytest.fixture
def record(tmp_path: Path) -> Iterator[OwnershipRecord]:
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", tmp_path / "state")
    record.open()
    yield record
    record.clean()
    assert not record.failed
    assert not {path for path in footprint()["cgroups"] if record.run in path}


@pytest.fixture
def spinner() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", "while True: pass"]) as process:
        yield process
        process.kill()


@pytest.fixture
def ingress(record: OwnershipRecord) -> Iterator[int]:
    """A thread that polls a link's end on CPU 1 and has more to do than it can; it outlives the record's cleaning."""
    near, far = Namespace(f"{record.run}-near"), Namespace(f"{record.run}-far")
    for namespace in (near, far):
        record.add("namespace", name=namespace.name)
        namespace.create()
    make_link(LinkEnd(near, "src", MACS[0]), LinkEnd(far, "dst", MACS[1]), 1500)
    (thread,) = thread_ingress(far, "dst", [1])
    listeners = far.run(lambda: [_listener("dst") for _ in range(LISTENERS)])
    command = ["nsenter", f"--net={near.path}", "taskset", "-c", "0", sys.executable, "-c", FLOOD]
    assert CONTROLLER is not None
    group = CONTROLLER.make_group(f"{record.run}-flood-cpu", 100, record)
    with subprocess.Popen([*group.admission, *command]) as flood:
        yield thread
        flood.kill()
    for listener in listeners:
        listener.close()


def _listener(interface: str) -> socket.socket:
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
    listener.bind((interface, 0))
    return listener


@pytest.mark.system
@weighs
def test_a_thread_and_a_process_share_a_cpu_by_their_weights(
    ingress: int, spinner: "subprocess.Popen[bytes]", record: OwnershipRecord
) -> None:
    assert CONTROLLER is not None
    host = CONTROLLER.make_group(f"{record.run}-host-cpu", 8, record)
    guest = CONTROLLER.make_group(f"{record.run}-guest-cpu", 1, record)
    host.take(ingress)
    guest.take(spinner.pid)
    deadline = time.monotonic() + 20
    while (ratio := _share(ingress, spinner.pid)) is None:
        assert time.monotonic() < deadline, "the thread never had enough to do"
    assert ratio == pytest.approx(8, rel=0.15)


def _share(thread: int, other: int, window_s: float = 1.0) -> float | None:
    """By how much more time the thread had than another process; None where it was idle meanwhile."""
    begun, before = time.monotonic(), [_time(pid) for pid in (thread, other)]
    time.sleep(window_s)
    elapsed_ns, after = (time.monotonic() - begun) * 1e9, [_time(pid) for pid in (thread, other)]
    ran, other_ran = (end.run_ns - start.run_ns for start, end in zip(before, after, strict=True))
    waited = after[0].wait_ns - before[0].wait_ns
    return ran / other_ran if ran + waited > 0.99 * elapsed_ns else None


def _time(pid: int) -> ThreadTime:
    found = thread_time(pid)
    assert found is not None
    return found


@pytest.mark.system
@weighs
@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.parametrize("platform", ["container", "lxc", "uml", "qemu-virtio"])
def test_host_and_guest_have_their_weights_in_a_trial(
    platform: str, in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    assert CONTROLLER is not None
    seen: dict[str, tuple[int, list[str]]] = {}

    def look(run: str) -> None:
        assert CONTROLLER is not None
        for group in CONTROLLER.root.glob(f"{run}-*"):
            names = [_comm(pid) for tasks in group.rglob("cgroup.procs") for pid in tasks.read_text().split()]
            seen[group.name.removeprefix(f"{run}-")] = int((group / CONTROLLER.file).read_text()), names

    in_the_trial(look)
    options = ["--set", "host_weight=32", "--set", "intended_mbps=5", "--repetitions", "1"]
    out = tmp_path / "out"
    main(["run", str(scenario), "--platform", platform, *options, "--out", str(out)])
    weight, names = seen["uut-cpu"]
    assert weight == 32 * CONTROLLER.default
    assert [name.startswith("napi/in0") for name in names] == [True]
    weight, names = seen["guest" if platform == "lxc" else "guest-cpu"]
    assert weight == CONTROLLER.default
    assert names
    facts = Result.open(out).campaign["platforms"][platform]["facts"]
    assert (facts["host_weight"], facts["weighed_by"]) == (32, CONTROLLER.file)


def _comm(pid: str) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def test_every_guest_has_the_key_within_bounds() -> None:
    with pytest.raises(ValueError, match="less than or equal to 100"):
        uml.Config(host_weight=101)
