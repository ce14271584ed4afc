"""What goes wrong in a real guest, or around it, is named in the verdict: the instrument's failure or a result."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.disturb import Act, bpf_program, within
from tests.helpers.guest_fault import with_fault
from vtax.cli import main
from vtax.machine.namespace import Namespace
from vtax.platforms import qemu
from vtax.results import Result
from vtax.testbed import host
from vtax.testbed.addressing import UDP_PORT, StreamAddresses
from vtax.testbed.layout import cpu_layout

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

Judged = list[tuple[str, list[str]]]


def measure(path: Path, out: Path, duration_s: int = 1) -> Judged:
    """Run a campaign of one cell on a QEMU guest of 128 MB; returns each trial's verdict and reasons."""
    options = ["--platform", "qemu-virtio", "--set", "intended_mbps=10", "--duration", str(duration_s)]
    options += ["--set", "platform.memory_bytes=134217728", "--repetitions", "1"]
    options += [
        "--set",
        "platform.accelerator=emulated",
    ]  # or a probe with a faulty image would be remembered
    status = main(["run", str(path), *options, "--out", str(out)])
    rows = Result.open(out).query("SELECT verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    judged = [(row["verdict"], row["reasons"]) for row in rows]
    assert status == (0 if any(verdict != "invalid" for verdict, _ in judged) else 3)
    return judged


def named(judged: Judged, words: str) -> str:
    """The verdict of the first trial that has a reason with these words."""
    found = [verdict for verdict, reasons in judged if any(words in reason for reason in reasons)]
    assert found, judged
    return found[0]


def step_s(judged: Judged) -> float:
    """How far a clock was stepped, as the first reason that speaks of it says."""
    return float(re.findall(r"clock was stepped by ([-+][0-9.]+) s", str(judged))[0])


def held_against(judged: Judged, words: str) -> bool:
    """Whether a trial was not believed for a reason with these words: it has no other, and is not valid."""
    blamed = [(verdict, [text for text in reasons if words not in text]) for verdict, reasons in judged]
    return any(verdict != "valid" and not others for verdict, others in blamed)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Puts a fault into the images of QEMU guests."""
    build = qemu.build_image

    def put(fault: str) -> None:
        monkeypatch.setattr(
            qemu, "build_image", lambda *wanted, **more: with_fault(build(*wanted, **more), fault, tmp_path)
        )

    return put


RESULTS = {
    "panic": "the guest died (Kernel panic - not syncing: sysrq triggered crash): its losses are a result",
    "hang": "the guest hung (Kernel panic - not syncing: sysrq triggered crash): its losses are a result",
    "memory": "the guest ran out of memory and killed 1 of its processes: a result",
    "nic": "the guest lost its NIC 02:",
    "clock": "the guest's clock was stepped by +",
}


@pytest.mark.parametrize("fault", RESULTS)
def test_what_befalls_the_guest_is_a_result(
    fault: str,
    faulty: Callable[[str], None],
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faulty(fault)
    if fault == "hang":
        monkeypatch.setattr(host, "GUEST_PATIENCE_S", 5.0)
    judged = measure(scenario, tmp_path / "out", duration_s=30 if fault == "memory" else 1)
    assert named(judged, RESULTS[fault])
    assert not held_against(judged, RESULTS[fault])
    lost = Result.open(tmp_path / "out").query("SELECT max(loss_ratio) AS loss FROM flows").to_pylist()
    if fault in ("panic", "hang", "nic"):
        assert lost[0]["loss"] > 0.1
    if fault == "clock":
        assert step_s(judged) == pytest.approx(5, abs=0.05)


def test_an_agent_that_is_killed_in_its_guest_is_the_instruments_failure(
    faulty: Callable[[str], None], scenario: Path, tmp_path: Path
) -> None:
    faulty("agent")
    judged = measure(scenario, tmp_path / "out")
    assert (
        judged == [("invalid", ["instrument failed: the agent inside the guest was killed by SIGKILL"])] * 3
    )


def test_a_guest_that_hangs_in_boot_is_given_up(
    faulty: Callable[[str], None],
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    faulty("boot")
    monkeypatch.setattr(qemu, "HELLO_TIMEOUT_S", 5.0)
    assert measure(scenario, tmp_path / "out") == []
    said = capsys.readouterr().err
    assert "no usable trial: guest: no hello within 5 s" in said
    assert said.count("qemu-virtio did not become ready: guest: no hello within 5 s") == 2


@pytest.fixture
def burner() -> Iterator[Callable[[int], None]]:
    """Starts processes that use up a CPU and do not descend from this one; ends them afterwards."""
    started: list[int] = []

    def burn(cpu: int) -> None:
        loop = f"taskset --cpu-list {cpu} sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"
        told = subprocess.run(["sh", "-c", loop], check=True, capture_output=True, text=True)
        started.append(int(told.stdout))

    yield burn
    for pid in started:
        os.kill(pid, 9)


@pytest.mark.measures
@pytest.mark.parametrize(
    ("role", "words"),
    [("agents", "source kept waiting for its CPU while sh (process "), ("host", "most by sh (process ")],
)
def test_a_process_that_takes_the_cpu_is_named(
    role: str,
    words: str,
    burner: Callable[[int], None],
    in_the_trial: Callable[[Act], None],
    scenario: Path,
    tmp_path: Path,
) -> None:
    (cpu, *_) = cpu_layout()[role]
    in_the_trial(lambda _run: burner(cpu))
    assert named(measure(scenario, tmp_path / "out"), words) == "invalid"


@pytest.mark.measures
def test_a_stepped_clock_is_named(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    def step(by_s: float) -> None:
        time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)

    in_the_trial(lambda _run: step(0.5))
    try:
        judged = measure(scenario, tmp_path / "out")
    finally:
        step(-0.5)
    assert named(judged, "the host's clock was stepped by +") in ("suspect", "invalid")
    assert step_s(judged) == pytest.approx(0.5, abs=0.05)


def send_foreign_frames(run: str) -> None:
    """A thousand UDP packets to the sink that are no test frames, by the source's interface."""
    stream = StreamAddresses(0)
    ethernet = bytes.fromhex((stream.uut_in_mac + stream.source_mac).replace(":", "")) + b"\x08\x00"
    address = [socket.inet_aton(each) for each in (stream.source_ip, stream.sink_ip)]
    ip = b"\x45\x00\x00\x32\x00\x00\x00\x00\x40\x11\x00\x00" + b"".join(address)
    total = sum(int.from_bytes(ip[at : at + 2]) for at in range(0, 20, 2))
    checksum = 0xFFFF - (total % 0xFFFF)
    ip = ip[:10] + checksum.to_bytes(2) + ip[12:]
    udp = b"".join(part.to_bytes(2) for part in (UDP_PORT, UDP_PORT, 30, 0))

    def send() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind(("src0", 0))
            for _ in range(1000):
                sender.send(ethernet + ip + udp + bytes(22))

    Namespace(f"{run}-source").run(send)


def test_another_who_sends_through_the_links_is_noticed(
    before_its_frames: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    before_its_frames(send_foreign_frames)
    judged = measure(scenario, tmp_path / "out")
    assert (
        named(judged, "foreign traffic: 1000 frames that the source did not send entered on stream 0")
        == "invalid"
    )
    assert named(judged, "frames that are no test frames reached the sink") == "invalid"


def test_a_sink_whose_program_is_replaced_is_noticed(
    before_its_frames: Callable[[Act], None],
    scenario: Path,
    tmp_path: Path,
) -> None:
    foreign = bpf_program(tmp_path / "foreign.o", "xdp", "return 2;")

    def replace(run: str) -> None:
        within(
            f"{run}-sink",
            "program=$(ip link show snk0 | sed -n 's,.*prog/xdp id \\([0-9]*\\).*,\\1,p')"
            ' && id=$(bpftool link show | sed -n "s/^\\([0-9]*\\): xdp *prog $program *$/\\1/p")'
            f" && bpftool link detach id $id && ip link set dev snk0 xdpdrv obj {foreign} sec xdp",
        )

    before_its_frames(replace)
    judged = measure(scenario, tmp_path / "out")
    assert named(judged, "sink detached: its program is no longer in place on stream 0") == "invalid"
    assert len([reasons for _, reasons in judged if any("detached" in reason for reason in reasons)]) == 1
