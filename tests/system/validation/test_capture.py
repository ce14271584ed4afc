"""The validation reads test frames by itself, out of captures: it reads what sources write."""

import contextlib
import socket
import time

import pytest

from validation.agreement import capture
from validation.trials import Trials, cell, machine_held, path_of
from vtax.machine.clock import clock_offset_ns
from vtax.platforms import presets

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

FRAME_BYTES, ETHERNET_TO_UDP = 128, 42
MINUTE_NS = 60 * 10**9
LOAD_MBPS = 0.25
"""So few frames that a socket holds all of them."""


def test_a_captured_frame_tells_when_it_was_due() -> None:
    """By the clock of this machine: no longer ago than a trial takes, and not later than it was captured."""
    with (
        machine_held("capture of a trial") as machine,
        path_of(presets()["raw"], cell("raw", FRAME_BYTES, LOAD_MBPS, 0.2), machine) as (path, emulated),
        path.testbed.source.namespace.run(
            lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        ) as tap,
    ):
        tap.bind(("src0", 0))
        tap.setblocking(False)
        record = Trials().judged(path, cell("raw", FRAME_BYTES, LOAD_MBPS, 0.2), emulated=emulated)[1]
        seen = []
        with contextlib.suppress(BlockingIOError):
            while True:
                data, (_, _, kind, *_) = tap.recvfrom(2048)
                if kind == socket.PACKET_OUTGOING and data[ETHERNET_TO_UDP:].startswith(capture.MAGIC):
                    seen.append(["0.0", str(len(data)), data[ETHERNET_TO_UDP:].hex()])
    now_ns = time.time_ns()
    at = f"{now_ns // 10**9}.{now_ns % 10**9:09}"
    frames = capture.parse([[at, *fields] for _, *fields in seen])
    (flow,) = record.flows
    assert len([frame for frame in frames if frame.phase == capture.MEASURE]) == flow["frames_sent"]
    assert all(0 <= frame.since_due_ns(clock_offset_ns()) < MINUTE_NS for frame in frames)
