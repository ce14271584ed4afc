"""What the validation plants on frames happens to those of the load, and to no others."""

import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from validation.agreement.plant import LEAVE, Counts, Planted, planted
from validation.native.busy import busy
from vtax.machine.namespace import Namespace

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

FRAME_BYTES = 128
HEADER_BYTES = 42
TRIAL, WARMUP, MEASURE = 7, 2, 3
FRAMES = 200
NEAR, FAR, PORT = "198.18.0.1", "198.18.0.2", 9


@pytest.fixture
def uut() -> Iterator[Namespace]:
    """A namespace whose `out0` leads to an address in another one."""
    tag = uuid.uuid4().hex[:6]
    near, far = (Namespace(f"vtax-test-{tag}-{end}") for end in ("uut", "sink"))
    try:
        near.create()
        far.create()
        pair = ["type", "veth", "peer", "name", "snk0", "netns", far.name]
        subprocess.run(["ip", "-n", near.name, "link", "add", LEAVE, *pair], check=True)
        for end, interface, address in ((near, LEAVE, NEAR), (far, "snk0", FAR)):
            subprocess.run(
                ["ip", "-n", end.name, "addr", "add", f"{address}/24", "dev", interface], check=True
            )
            subprocess.run(["ip", "-n", end.name, "link", "set", interface, "up"], check=True)
        yield near
    finally:
        near.remove()
        far.remove()


@contextmanager
def sockets(uut: Namespace) -> Iterator[tuple[socket.socket, socket.socket]]:
    """One that sends from the UUT, and one that receives at the far end."""
    far = Namespace(uut.name.replace("uut", "sink"))
    with (
        far.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver,
        uut.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
    ):
        receiver.bind((FAR, PORT))
        receiver.settimeout(10)
        yield sender, receiver


def test_iperf3s_ends_meet_although_all_of_its_load_is_lost(uut: Namespace, tmp_path: Path) -> None:
    """A datagram of four bytes comes through, and none of the load that was sent before it.

    Of what was lost the measured frames of a trial are counted, not its warm-up or what is no test frame.
    """
    with (
        sockets(uut) as (sender, receiver),
        planted(uut, Planted(lost=10_000), FRAME_BYTES, tmp_path) as planter,
    ):
        for fields in (b"", *(b"vtax" + TRIAL.to_bytes(4) + bytes([phase]) for phase in (WARMUP, MEASURE))):
            for _ in range(20):
                sender.sendto(fields.ljust(FRAME_BYTES - HEADER_BYTES, b"\0"), (FAR, PORT))
        sender.sendto(b"6789", (FAR, PORT))
        assert receiver.recv(2048) == b"6789"
        assert planter.of(TRIAL) == Counts(lost=20)
        assert planter.of(TRIAL + 1) == Counts()


def test_a_frame_is_late_where_another_overtook_it(uut: Namespace, tmp_path: Path) -> None:
    """Half of the frames make the detour: those are counted that came behind a later one, and no others."""
    with (
        sockets(uut) as (sender, receiver),
        planted(uut, Planted(late=5_000), FRAME_BYTES, tmp_path) as planter,
    ):
        begin = b"vtax" + TRIAL.to_bytes(4) + bytes([MEASURE, 0])
        for sequence in range(FRAMES):
            fields = begin + sequence.to_bytes(4)
            sender.sendto(fields.ljust(FRAME_BYTES - HEADER_BYTES, b"\0"), (FAR, PORT))
        came = [int.from_bytes(receiver.recv(2048)[len(begin) :][:4]) for _ in range(FRAMES)]
        assert sorted(came) == [*range(FRAMES)]
        overtaken = sum(sequence < max(came[:place], default=0) for place, sequence in enumerate(came))
        assert 0 < overtaken < FRAMES
        assert planter.of(TRIAL).late == overtaken


def test_work_takes_each_frame_as_long_as_was_asked_for(uut: Namespace, tmp_path: Path) -> None:
    """By the program's own clock; what was asked for before is forgotten."""
    with (
        uut.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
        busy(uut, LEAVE, tmp_path) as work,
    ):
        for asked_ns in (200_000, 50_000, 0):
            work.ask(asked_ns)
            for _ in range(30):
                sender.sendto(bytes(FRAME_BYTES - HEADER_BYTES), (FAR, PORT))
            took = work.took()
            assert 30 <= took.frames <= 40
            assert took.mean_ns >= asked_ns
            assert asked_ns <= took.median_ns < asked_ns + 50_000
