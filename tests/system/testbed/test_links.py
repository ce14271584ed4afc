"""Namespaces, links, ports and ingress threads on the running kernel."""

import fcntl
import json
import os
import select
import socket
import subprocess
import sys
import termios
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyroute2.ethtool import Ethtool

from tests.helpers.namespaces import told
from tests.helpers.testbeds import wait_for
from vtax.agent_api import (
    ExpectedStream,
    SinkCollectParams,
    SinkOpenParams,
    SourceOpenParams,
    StreamInterface,
)
from vtax.keys.frames import FrameSpec
from vtax.machine.agent import start_agent
from vtax.machine.cpu import cpu_use, sample_cpus, thread_time, threads_of
from vtax.machine.ingress import thread_ingress
from vtax.machine.namespace import Namespace
from vtax.machine.offloads import CHECKSUMS, SEGMENTATION
from vtax.platforms.tap import open_tap
from vtax.testbed.addressing import Station, StreamAddresses, source_stream
from vtax.testbed.counters import interface_counters
from vtax.testbed.link import LinkEnd, complete_frames, make_link, shape, share, switch_to
from vtax.testbed.ports import BridgePort, Site

pytestmark = pytest.mark.system

STREAM = StreamAddresses(0)
FRAMES = FrameSpec(100)


@pytest.fixture
def spaces() -> Iterator[tuple[Namespace, Namespace]]:
    run = uuid.uuid4().hex[:6]
    near, far = Namespace(f"vtax-test-{run}-a"), Namespace(f"vtax-test-{run}-b")
    try:
        near.create()
        far.create()
        yield near, far
    finally:
        near.remove()
        far.remove()


@pytest.fixture
def link(spaces: tuple[Namespace, Namespace]) -> tuple[LinkEnd, LinkEnd]:
    near, far = spaces
    ends = LinkEnd(near, "src0", "02:00:00:00:00:01"), LinkEnd(far, "in0", "02:00:00:00:00:02")
    make_link(*ends, mtu=1500)
    return ends


def test_a_namespace_is_silent_and_leaves_nothing() -> None:
    namespace = Namespace(f"vtax-test-{uuid.uuid4().hex[:6]}")
    before = Path("/proc/self/ns/net").stat().st_ino
    namespace.create()
    try:
        disabled = namespace.run(lambda: Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").read_text().strip())
        assert disabled == "1"
        assert namespace.run(lambda: Path("/proc/thread-self/ns/net").stat().st_ino) != before
    finally:
        namespace.remove()
    assert Path("/proc/self/ns/net").stat().st_ino == before
    assert not namespace.path.exists()


def test_what_fails_inside_fails_outside(spaces: tuple[Namespace, Namespace]) -> None:
    def fail() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        spaces[0].run(fail)


def test_a_shaped_link_counts_layer_one(link: tuple[LinkEnd, LinkEnd]) -> None:
    near, _ = link
    shape(near, 1000, flow_control=True)
    qdisc = told(near.namespace, "tc", "qdisc", "show", "dev", "src0")
    assert "tbf" in qdisc
    assert "rate 1Gbit" in qdisc
    assert "overhead 24" in qdisc


def test_frames_leave_a_source_whole(link: tuple[LinkEnd, LinkEnd]) -> None:
    def active(end: LinkEnd) -> set[str]:
        def ask() -> set[str]:
            with Ethtool() as ethtool:
                features = ethtool.get_features(end.interface).features
                return {name for name, feature in features.items() if feature.enable}

        return end.namespace.run(ask)

    source, far = link
    assert CHECKSUMS in active(source)
    complete_frames(source)
    assert not active(source) & {CHECKSUMS, *SEGMENTATION}
    assert CHECKSUMS in active(far)


def test_the_ingress_gets_a_pinned_thread(link: tuple[LinkEnd, LinkEnd]) -> None:
    _, far = link
    (pid,) = thread_ingress(far.namespace, far.interface, [0])
    assert Path(f"/proc/{pid}/comm").read_text().startswith("napi/in0")
    assert os.sched_getaffinity(pid) == {0}
    assert thread_time(pid) is not None


def test_a_bridge_port_neither_learns_nor_floods(link: tuple[LinkEnd, LinkEnd]) -> None:
    near, far = link
    port = BridgePort(Site(far, "port-in0", [Station(near.mac, "198.18.0.2")]))
    (tap,) = open_tap(far.namespace, "tap0", 1500)
    try:
        port.attach("tap0", "02:00:00:00:00:03")
        members = told(far.namespace, "ip", "-d", "link", "show", "master", "port-in0")
        assert members.count("learning off flood off") == 2
        entries = told(far.namespace, "bridge", "fdb", "show", "br", "port-in0")
        assert "02:00:00:00:00:01 dev in0 master port-in0 static" in entries
        assert "02:00:00:00:00:03 dev tap0 master port-in0 static" in entries
    finally:
        os.close(tap)
    port.close()
    assert "port-in0" not in told(far.namespace, "ip", "link")
    assert "tap0" not in told(far.namespace, "ip", "link")


def test_what_waits_in_a_switch_is_in_no_senders_socket(spaces: tuple[Namespace, Namespace]) -> None:
    """A switch loses what its queue has no room for, and no sender waits for it."""
    hosts, switch = spaces
    source, uut = (
        LinkEnd(hosts, name, f"02:00:00:00:00:0{last}") for name, last in (("src0", 1), ("in0", 2))
    )
    member, trunk = (
        LinkEnd(switch, name, f"02:00:00:00:00:0{last}") for name, last in (("to-src0", 3), ("trunk", 4))
    )
    make_link(source, member, mtu=1500)
    make_link(trunk, uut, mtu=1500)
    port = BridgePort(Site(trunk, "switch-in", [Station(uut.mac, "198.18.0.2")]))
    port.attach(member.interface, source.mac)
    share(trunk, 0.01, flow_control=True, macs=[source.mac], mtu=1500)
    switch_to(member, trunk.interface, [uut.mac])

    def socket_of_source() -> socket.socket:
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind((source.interface, 0))
        sender.setblocking(False)
        return sender

    def mac(end: LinkEnd) -> bytes:
        return bytes.fromhex(end.mac.replace(":", ""))

    frame = mac(uut) + mac(source) + b"\x88\xb5" + bytes(1500)
    with hosts.run(socket_of_source) as sender:
        # More than its buffer and the switch's queue hold; it would be refused where the queue is its buffer.
        for _ in range(300):
            assert select.select([], [sender], [], 60)[1], "the sender waits for the switch"
            sender.send(frame)
        wait_for("the socket to be free", lambda: unsent_bytes(sender) == 0, patience_s=300)
    queue = json.loads(told(switch, "tc", "-s", "-j", "qdisc", "show", "dev", "trunk"))
    waiting, lost = (sum(at[key] for at in queue if at["kind"] == "bfifo") for key in ("backlog", "drops"))
    assert waiting > 100_000
    assert lost > 0
    assert interface_counters(hosts)["in0"]["received"] > 0
    port.close()


def unsent_bytes(sender: socket.socket) -> int:
    """What of a socket's frames is charged to it still."""
    return int.from_bytes(fcntl.ioctl(sender, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def test_what_a_sink_takes_at_a_tap_was_received(spaces: tuple[Namespace, Namespace], tmp_path: Path) -> None:
    near, far = spaces
    (sent,) = open_tap(near, "src0", 1500, headers=False)
    (came,) = open_tap(far, "snk0", 1500, headers=False, polled=True)
    os.set_blocking(
        came, False
    )  # as QEMU writes; what is written otherwise passes by the driver's own program
    source = start_agent("source", netns=near.path, cpus=[0], log=tmp_path / "source.log")
    sink = start_agent("sink", netns=far.path, cpus=[0], log=tmp_path / "sink.log")
    try:
        stream = source_stream(STREAM, "src0", STREAM.sink_mac, FRAMES, link_mbps=None)
        source.api.source_open(SourceOpenParams(cpus=[0], streams=[stream]))
        received = StreamInterface(stream=0, interface="snk0")
        sink.api.sink_open(SinkOpenParams(streams=[received], attach="native"))
        sink.api.sink_arm(FRAMES.arm(1, "probe"))
        run = FRAMES.run(1, "raw", {"probe": 0.02}, intended_fps=1000, probe_fps=1000)
        frames = source.api.source_run(run).streams[0].phases[0].frames_sent
        for _ in range(frames):
            os.write(came, os.read(sent, 2000))
        expected = [ExpectedStream(stream=0, strand_frames=[frames])]
        counted = sink.api.sink_collect(SinkCollectParams(expected=expected, quiet_ms=50, limit_ms=500))
        counters = interface_counters(far)["snk0"]
    finally:
        source.close()
        sink.close()
        os.close(sent)
        os.close(came)
    assert counted.streams[0].received == counters["received"] == frames > 0
    assert counters["dropped_in"] == 0


@pytest.mark.measures
def test_cpu_use_tells_a_spinner_from_idleness() -> None:
    cpu = max(os.sched_getaffinity(0))
    before = sample_cpus([cpu])
    subprocess.run(
        ["taskset", "--cpu-list", str(cpu), "timeout", "0.5", "sh", "-c", "while :; do :; done"], check=False
    )
    use = cpu_use(before, sample_cpus([cpu]))
    assert use.busy_percent > 60
    assert use.busy_percent <= 100 + use.rounding_percent


def test_threads_are_named() -> None:
    assert os.getpid() in threads_of(os.getpid())
    assert thread_time(2**22 + 1) is None
