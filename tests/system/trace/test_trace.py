"""Packets followed on paths of this machine: one that is just there, and those of traced trials."""

import contextlib
import socket
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from vtax.cli import main
from vtax.machine.namespace import Namespace, index_of
from vtax.results import Result
from vtax.stages import interfaces_of
from vtax.trace import Request, trace
from vtax.trace import Result as Traced
from vtax.views.summary import summarise

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

PORT = 7001


@dataclass(frozen=True)
class Bridged:
    """Two ends and, between them, a host whose bridge br0 joins one0 and two0."""

    host: Namespace
    one: Namespace
    two: Namespace

    def drop_at(self, interface: str) -> None:
        """Have an interface of the host hold back next to nothing, and drop the rest."""
        command = f"tc qdisc replace dev {interface} root tbf rate 8kbit burst 1600 limit 1600"
        self.run_in_host(command)

    def run_in_host(self, command: str) -> None:
        subprocess.run(["nsenter", f"--net={self.host.path}", "--", *command.split()], check=True)

    @contextlib.contextmanager
    def traffic(self) -> Iterator[threading.Event]:
        """Datagrams of 100 bytes from `one` to `two` and back to it, until the block ends; an event once some came."""
        ended, came = threading.Event(), threading.Event()
        server = self.two.run(lambda: bound("10.9.0.2"))
        client = self.one.run(lambda: bound("10.9.0.1"))

        def ask() -> None:
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    client.sendto(bytes(100), ("10.9.0.2", PORT))
                    client.recv(2048)
                    came.set()

        def answer() -> None:
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    payload, sender = server.recvfrom(2048)
                    server.sendto(payload, sender)

        threads = [threading.Thread(target=each) for each in (ask, answer)]
        for thread in threads:
            thread.start()
        try:
            yield came
        finally:
            ended.set()
            for thread in threads:
                thread.join()
            server.close()
            client.close()


def bound(address: str) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.settimeout(0.1)
    opened.bind((address, PORT))
    return opened


@pytest.fixture
def path() -> Iterator[Bridged]:
    run = f"vtax-{uuid.uuid4().hex[:6]}"
    made = Bridged(*(Namespace(f"{run}-{name}") for name in ("host", "one", "two")))
    with contextlib.ExitStack() as undo:
        for namespace in (made.host, made.one, made.two):
            namespace.create()
            undo.callback(namespace.remove)
        made.host.netlink(lambda ip: ip.link("add", ifname="br0", kind="bridge", br_mcast_snooping=0))
        made.host.bring_up("br0")
        for end, namespace, address in (("one0", made.one, "10.9.0.1"), ("two0", made.two, "10.9.0.2")):
            peer = {"ifname": "eth0", "net_ns_fd": str(namespace.path)}
            made.host.netlink(
                lambda ip, end=end, peer=peer: ip.link("add", ifname=end, kind="veth", peer=peer)
            )
            bridge = made.host.netlink(lambda ip: index_of(ip, "br0"))
            made.host.bring_up(end, master=bridge)
            namespace.bring_up("eth0")
            namespace.netlink(
                lambda ip, address=address: ip.addr(
                    "add", index=index_of(ip, "eth0"), address=address, prefixlen=24
                )
            )
        yield made


class Notes:
    """A screen that keeps what it is told, and does something once at the end of a round."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        self.rounds: list[float] = []
        self.notes: list[str] = []
        self.followed = threading.Event()
        self._act: Callable[[], object] | None = act

    def show(self, result: Traced) -> None:
        self.rounds.append(result.elapsed_s)
        if self._act is not None:
            self._act()
            self._act = None
        trails = result.reading.trails if result.reading is not None else ()
        if trails and all(each.total.count >= 20 for each in trails):
            self.followed.set()

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_what_interfaces_are_is_found_out_to_the_far_end(path: Bridged) -> None:
    found = interfaces_of(path.host)
    assert found["br0"].is_bridge
    assert found["one0"].master == found["two0"].master == found["br0"].index
    far = found["one0"].far
    assert far is not None
    assert (far.name, Path(far.netns).stat().st_ino) == ("eth0", path.one.inode)


def test_a_path_that_exists_is_followed_both_ways_and_its_stages_add_up(path: Bridged) -> None:
    screen = Notes()
    with ThreadPoolExecutor() as pool:
        asked = Request(["one0", "br0", "two0"], path.host.name, 1, 8.0)
        with path.traffic() as came:
            assert came.wait(20)
            tracing = pool.submit(trace, asked, screen)
            assert screen.followed.wait(30)
        found = tracing.result()  # its last reading is of a path at rest
    assert found.reading is not None
    assert [each.trail.name for each in found.reading.trails] == ["one0 to two0", "two0 to one0"]
    for each in found.reading.trails:
        assert {stage.count for stage in each.stages} == {each.total.count}
        assert sum(stage.sum_ns for stage in each.stages) == each.total.sum_ns


def test_a_packet_that_is_dropped_is_told_with_the_kernels_reason(path: Bridged) -> None:
    with path.traffic() as came:
        assert came.wait(20)
        path.drop_at("two0")
        found = trace(Request(["one0", "two0"], path.host.name, 1, 2.5), Notes())
    reasons = {(drop.interface, drop.reason) for drop in found.drops if drop.packets}
    assert ("two0", "QDISC_DROP") in reasons, found.drops


def test_an_interface_that_vanishes_is_said_and_the_rest_goes_on(path: Bridged) -> None:
    screen = Notes(lambda: path.run_in_host("ip link del two0"))
    found = trace(Request(["one0", "two0"], path.host.name, 1, 4.5), screen)
    assert "two0 is gone; the rest is traced on" in screen.notes  # and its far end with it
    assert "two0 was gone before the end" in found.remarks


def test_the_command_prints_one_document_and_leaves_nothing(
    path: Bridged, capsys: pytest.CaptureFixture[str]
) -> None:
    with path.traffic() as came:
        assert came.wait(20)
        arguments = ["trace", "one0", "--netns", path.host.name, "--sample", "1", "--duration", "1.2"]
        assert main(arguments) == 0
    told = capsys.readouterr()
    assert "Delay by stage" in told.out
    assert "to one0" in told.out
    assert main(["trace", "oneo", "--netns", path.host.name]) == 2
    assert 'no interface oneo here; did you mean "one0"?' in capsys.readouterr().err


REQUESTS = """
name: own/traced
title: Traced
question: Where?
workload: {kind: requests, warmup_s: 0.2, duration_s: 0.8, trace_every: 1}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [container]
  placement: [inter-host]
  trace: [none, stages]
repetitions: 1
"""
FRAMES = """
name: own/traced-frames
title: Traced
question: Where?
workload: {kind: forwarding, warmup_s: 0.2, duration_s: 1, trace: stages, trace_every: 1, frame_bytes: 512}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [raw, container]
  intended_mbps: [2]
repetitions: 1
"""


def measured(directory: Path, scenario: str, *options: str) -> Result:
    file = directory / "own.yaml"
    file.write_text(scenario.lstrip())
    main(["run", str(file), *options, "--out", str(directory / "out")])
    return Result.open(directory / "out")


def assert_stages_add_up(result: Result) -> None:
    sums = result.query(
        "SELECT trial_id, way, sum(mean_ns) FILTER (stage <> 'total') AS parts, "
        "max(mean_ns) FILTER (stage = 'total') AS whole, min(count) AS packets, max(count) AS most "
        "FROM stages WHERE way IS NOT NULL GROUP BY ALL"
    ).to_pylist()
    assert sums
    for row in sums:
        assert row["packets"] == row["most"] > 0, row
        assert row["parts"] == pytest.approx(row["whole"], rel=1e-6), row


def test_requests_are_followed_on_both_hosts_and_feed_nothing_else(tmp_path: Path) -> None:
    result = measured(tmp_path, REQUESTS)
    assert_stages_add_up(result)
    ways = result.query("SELECT DISTINCT way FROM stages WHERE way IS NOT NULL ORDER BY way").to_pylist()
    assert [row["way"] for row in ways] == [
        "source guest1 rx",
        "source guest1 tx",
        "uut guest0 rx",
        "uut guest0 tx",
    ]
    assert result.query("SELECT 1 FROM stages WHERE stage = 'unattributed'").num_rows
    moments = result.query(
        "SELECT trial_id, packet, way, list(at_ns ORDER BY position) AS at FROM packets GROUP BY ALL"
    ).to_pylist()
    assert moments
    assert all(row["at"] == sorted(row["at"]) for row in moments)
    traced = result.query("SELECT trial_id FROM trials WHERE list_contains(marks, 'traced')").to_pylist()
    timed = result.query("SELECT DISTINCT trial_id FROM stages").to_pylist()
    assert sorted(row["trial_id"] for row in traced) == sorted(row["trial_id"] for row in timed)
    summary = summarise(result)
    assert {cell.setting.label for cell in summary.tracing.traced}
    assert result.query("SELECT count(*) AS n FROM cells WHERE trace = 'stages'").to_pylist() == [{"n": 0}]


def test_the_stages_of_frames_are_their_delay(tmp_path: Path) -> None:
    """From when a frame was due to the sink's program; the rest is the meter's own time, and the sink's buckets."""
    result = measured(tmp_path, FRAMES)
    assert_stages_add_up(result)
    rows = result.query(
        "SELECT platform, trial_id, max(s.mean_ns) FILTER (stage = 'total') AS total, "
        "max(s.mean_ns) FILTER (stage = 'unattributed') AS rest, any_value(latency_mean_ns) AS delay "
        "FROM traced JOIN stages AS s USING (trial_id) JOIN flows USING (trial_id) GROUP BY ALL"
    ).to_pylist()
    assert {row["platform"] for row in rows} == {"raw", "container"}
    for row in rows:
        assert row["total"] > 0
        if row["delay"] is not None:  # of a source that a busy machine held up none is told
            assert row["total"] + row["rest"] == pytest.approx(row["delay"], rel=1e-6)
            assert row["total"] == pytest.approx(row["delay"], rel=0.01, abs=20_000), row


def test_guests_that_are_asked_at_once_are_told_apart(tmp_path: Path) -> None:
    options = ["--set", "placement=guest-to-peer", "--set", "trace=stages"]
    shared = [*options, "--set", "testbed.uplink=shared", "--set", "guests=2"]
    result = measured(tmp_path, REQUESTS, *shared)
    assert_stages_add_up(result)
    counted = result.query(
        "SELECT DISTINCT guest, direction FROM stages WHERE stage = 'total' ORDER BY guest, direction"
    ).to_pylist()
    assert [(row["guest"], row["direction"]) for row in counted] == [
        (0, "rx"),
        (0, "tx"),
        (1, "rx"),
        (1, "tx"),
    ]
    flows = result.query("SELECT guest, transactions FROM flows").to_pylist()
    assert {row["guest"] for row in flows} == {0, 1}
    assert all(row["transactions"] > 0 for row in flows)
