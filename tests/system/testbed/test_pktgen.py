"""The kernel's packet generator as a source, in a guest whose kernel has it: every frame of it is counted."""

import base64
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Raw

from vtax.agent_api import (
    CollectedStream,
    ExpectedStream,
    Phase,
    SinkCaptureParams,
    SinkCollectParams,
    SinkOpenParams,
    SinkRefused,
    SourceOpenAnswer,
    SourceOpenParams,
    SourceRunParams,
    SourceStream,
)
from vtax.keys.frames import FrameSpec
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.dedicated import dedicated
from vtax.testbed.guest import GUEST
from vtax.testbed.layout import cpu_layout
from vtax.testbed.machines import OneMachine
from vtax.testbed.settings import LocalSettings
from vtax.testbed.testbed import Testbed

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

TRIAL = 0x12_3456
FRAME_BYTES = 100
FRAMES = FrameSpec(FRAME_BYTES)
PROBE_FPS = 200
PROBE_LANE = 0x80
UNLIMITED = LocalSettings(None, False, 1500, cpu_layout())


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Testbed]:
    """A testbed whose guest has loaded pktgen, with a sink that keeps the first frames."""
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", tmp_path / "state")
    record.open()
    machines = OneMachine(record)
    testbed = Testbed(dedicated(UNLIMITED, "bridge", 1, machines.roles), machines)
    try:
        testbed.build()
        guest = testbed.uut.start_guest(GUEST, "qemu", Raw(b"{}"), testbed.guests[0].nics, ["pktgen"])
        configuration = testbed.guests[0].configuration(guest.modules)
        testbed.uut.api(GUEST).guest_configure(configuration, timeout_s=30.0)
        sink = SinkOpenParams(streams=testbed.sink_streams(), attach="auto", capture_frames=64)
        testbed.host("sink").api("sink").sink_open(sink)
        yield testbed
    finally:
        testbed.close()
        record.clean()
        assert not record.failed


def open_source(testbed: Testbed, vlan: int | None = None) -> SourceOpenAnswer:
    """Make the guest the source of what leaves by its second NIC."""
    ends = testbed.network.streams[0].addresses
    stream = SourceStream(
        stream=0,
        interface="eth1",
        source_mac=ends.uut_out_mac,
        destination_mac=ends.sink_mac,
        vlan=vlan,
        source_ip=ends.uut_out_ip,
        destination_ip=ends.sink_ip,
        source_port=9,
        destination_port=9,
    )
    params = SourceOpenParams(cpus=[0], mechanisms=["pktgen"], streams=[stream])
    return testbed.uut.api(GUEST).source_open(params)


def arm(testbed: Testbed) -> None:
    testbed.host("sink").api("sink").sink_arm(FRAMES.arm(TRIAL, "measure"))


def flood(phases_s: dict[Phase, float]) -> SourceRunParams:
    """The parameters of a run."""
    return FRAMES.run(TRIAL, "pktgen", phases_s, intended_fps=None, probe_fps=PROBE_FPS)


def collect(testbed: Testbed, frames: int) -> CollectedStream:
    """What the sink counted of the measured phase, in which so many were sent."""
    expected = [ExpectedStream(stream=0, strand_frames=[frames])]
    awaited = SinkCollectParams(expected=expected, quiet_ms=500, limit_ms=2000)
    (stream,) = testbed.host("sink").api("sink").sink_collect(awaited).streams
    return stream


def captured(testbed: Testbed) -> list[bytes]:
    """The first frames, those of the probe lane left out."""
    kept = testbed.host("sink").api("sink").sink_capture(SinkCaptureParams(stream=0, first=0)).frames
    frames = [base64.b64decode(frame.bytes) for frame in kept]
    return [frame for frame in frames if b"vtax" not in frame]


def built(testbed: Testbed, sequence: int, identification: int, vlan: int | None = None) -> bytes:
    """The frame as pktgen is to make it; it numbers the frames of a phase from 1."""
    ends = testbed.network.streams[0].addresses
    macs = bytes.fromhex((ends.sink_mac + ends.uut_out_mac).replace(":", ""))
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    addresses = bytes(int(part) for ip in (ends.uut_out_ip, ends.sink_ip) for part in ip.split("."))
    ip_bytes = FRAME_BYTES - 14 - len(tag)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, ip_bytes, identification, 0, 32, 17, 0) + addresses
    total = sum(struct.unpack("!10H", ip))
    ip = ip[:10] + struct.pack("!H", 0xFFFF - (total + total // 0x10000) % 0x10000) + ip[12:]
    ports = (0x8000 | TRIAL >> 6, 0x8000 | (TRIAL & 0x3F) << 9 | 3 << 7 | 0)
    udp = struct.pack("!HHHH", *ports, ip_bytes - 20, 0)
    fields = struct.pack("!IIII", 0xBE9BE955, sequence + 1, 0, 0)
    return (macs + tag + b"\x08\x00" + ip + udp + fields).ljust(FRAME_BYTES, b"\0")


def identification_of(frame: bytes) -> int:
    return int(struct.unpack_from("!H", frame, 18 if frame[12:14] == b"\x08\x00" else 22)[0])


@pytest.mark.measures
def test_a_guest_s_pktgen_is_calibrated_and_every_frame_of_it_is_counted(testbed: Testbed) -> None:
    assert open_source(testbed) == SourceOpenAnswer(mechanisms=["raw", "pktgen"], refused=[])
    arm(testbed)
    guest = testbed.uut.api(GUEST)
    told = guest.source_calibrate(FRAMES.calibrate("flood"), timeout_s=30.0)
    assert {ceiling.mechanism for ceiling in told.ceilings} == {"raw", "pktgen"}
    assert all(ceiling.ceiling_fps > 1000 for ceiling in told.ceilings)
    seen = collect(testbed, 0)
    assert (seen.received, seen.probes.received) == (0, 0)
    assert seen.refused.trial > 1000, "a calibration's frames are no trial's"

    for vlan in (None, 7):
        open_source(testbed, vlan)
        arm(testbed)
        sent = guest.source_run(flood({"warmup": 0.1, "measure": 0.4}))
        warmup, measure = sent.streams[0].phases
        seen = collect(testbed, measure.frames_sent)
        assert measure.frames_sent > 5000
        assert seen.received == measure.frames_sent, (sent, seen)
        assert seen.received_bytes == FRAME_BYTES * measure.frames_sent
        assert (seen.duplicated, seen.reordered, seen.loss.periods) == (0, 0, 0)
        assert seen.phases.warmup == warmup.frames_sent > 500
        assert seen.refused == SinkRefused(length=0, trial=0, stream=0, foreign=0)
        assert seen.latency.count == seen.probes.received > 0, "only of the probe lane"
        assert measure.send_errors == 0
        assert (measure.blocked, sent.threads[0].time) == (None, None), "of which pktgen tells nothing"
        window_s = (measure.end_ns - measure.start_ns) / 1e9
        assert 0.4 <= window_s < 1
        assert warmup.end_ns <= (measure.first_ns or 0) == measure.start_ns
        assert measure.last_ns == measure.end_ns <= sent.end_ns
        frames = captured(testbed)
        assert len(frames) > 40
        first = identification_of(frames[0])
        assert frames == [built(testbed, at, (first + at) % 0x10000, vlan) for at in range(len(frames))]
        guest.source_close()


def test_a_guest_s_pktgen_keeps_to_a_rate_and_probes_go_beside_it(testbed: Testbed) -> None:
    """As schlosser2011 has it: pktgen waits as long from one frame to the next as the load asks for."""
    open_source(testbed)
    arm(testbed)
    guest = testbed.uut.api(GUEST)
    run = FRAMES.run(TRIAL, "pktgen", {"measure": 1.0}, intended_fps=2000, probe_fps=PROBE_FPS)
    sent = guest.source_run(run)
    (measure,) = sent.streams[0].phases
    window_s = (measure.end_ns - measure.start_ns) / 1e9
    # A tenth of what it floods.
    assert 100 < measure.frames_sent <= 2000 * window_s * 1.02
    seen = collect(testbed, measure.frames_sent)
    assert (seen.received, seen.duplicated, seen.reordered) == (measure.frames_sent, 0, 0)
    assert seen.latency.count == seen.probes.received == measure.probes_sent > 0


def test_an_abort_ends_it_and_nothing_stays_configured(testbed: Testbed) -> None:
    open_source(testbed)
    arm(testbed)
    guest = testbed.uut.api(GUEST)
    running = guest.begin_source_run(flood({"measure": 60.0}))
    while collect(testbed, 1000).received < 1000:
        pass
    guest.abort()
    sent = running(60.0)
    (measure,) = sent.streams[0].phases
    assert sent.aborted
    assert measure.end_ns - measure.start_ns < 30e9
    assert collect(testbed, measure.frames_sent).received == measure.frames_sent
    guest.source_close()
    assert "pktgen" in open_source(testbed).mechanisms, "a device that is left over would be in the way"
    assert collect(testbed, 0).received == measure.frames_sent
