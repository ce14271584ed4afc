"""Weights of the host's packet work against guests: the scheduler keeps to them, and they leave nothing."""

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.disturb import Act
from tests.helpers.footprint import cgroups
from vtax.cli import main
from vtax.machine import ingress as ingress_threads
from vtax.machine.cpu import ThreadTime, thread_time
from vtax.machine.cpu_weight import find_cpu_controller
from vtax.machine.ingress import thread_ingress
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.ownership import OwnershipRecord
from vtax.results import Result
from vtax.testbed.link import LinkEnd, make_link

pytestmark = pytest.mark.system

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


@pytest.fixture
def record(tmp_path: Path) -> Iterator[OwnershipRecord]:
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", tmp_path / "state")
    record.open()
    yield record
    record.clean()
    assert not record.failed
    assert not {path for path in cgroups() if record.run in path}


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
        record.add(OwnedNamespace(namespace.name))
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


@pytest.fixture
def starved(record: OwnershipRecord) -> Iterator[None]:
    """Both CPUs have spinners that outweigh whatever is in no group, as new kernel threads are; the test does, too."""
    assert CONTROLLER is not None
    spinners, own = (
        CONTROLLER.make_group(f"{record.run}-{name}", 100, record) for name in ("spinners", "test")
    )
    before = CONTROLLER.root / _cgroup("cpu" if CONTROLLER.file == "cpu.shares" else "") / "cgroup.procs"
    own.take(os.getpid())
    command = [sys.executable, "-c", "while True: pass"]
    spinning = [
        subprocess.Popen([*spinners.admission, "taskset", "-c", str(cpu), *command])
        for cpu in os.sched_getaffinity(0)
    ]
    yield
    for process in spinning:
        process.kill()
        process.wait()
    before.write_text(str(os.getpid()))


def _cgroup(controller: str) -> str:
    """Where this process is in the hierarchy of a controller; version 2 has one, which has no name."""
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    return next(path for _, controllers, path in lines if controller in controllers.split(",")).removeprefix(
        "/"
    )


@weighs
@pytest.mark.usefixtures("starved")
def test_a_thread_that_has_hardly_begun_is_given_a_cpu_and_a_weight(
    record: OwnershipRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel moves no thread of its own that has not run yet: one of three is met so here."""
    assert CONTROLLER is not None
    monkeypatch.setattr(ingress_threads, "BEGIN_TIMEOUT_S", 30.0)
    space = Namespace(f"{record.run}-far")
    record.add(OwnedNamespace(space.name))
    space.create()
    group = CONTROLLER.make_group(f"{record.run}-host-cpu", 8, record)
    for number in range(20):
        near, far = (
            LinkEnd(space, f"{end}{number}", mac) for end, mac in zip(("src", "dst"), MACS, strict=True)
        )
        make_link(near, far, 1500)
        (thread,) = thread_ingress(space, far.interface, [1])
        group.take(thread)
        assert os.sched_getaffinity(thread) == {1}
        assert str(thread) in (group.path / "cgroup.procs").read_text().split()


def _listener(interface: str) -> socket.socket:
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
    listener.bind((interface, 0))
    return listener


@pytest.mark.measures
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
