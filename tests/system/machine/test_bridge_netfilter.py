"""Netfilter in bridges: off in vtax's namespaces, on where a scenario asks for it, the machine's own left alone."""

import json
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.bridge_netfilter import OFF, ON, SCENARIO
from tests.helpers.disturb import Act
from tests.helpers.scenarios import write_scenario
from tests.helpers.testbeds import wait_for
from vtax.cli import main
from vtax.machine.bridge_netfilter import read_bridge_netfilter, set_bridge_netfilter
from vtax.machine.namespace import Namespace, OwnedNamespace, index_of
from vtax.machine.ownership import OwnershipRecord
from vtax.results import Result
from vtax.testbed.addressing import Station
from vtax.testbed.host import Host
from vtax.testbed.link import EndPlace, LinkEnd, make_link

pytestmark = pytest.mark.system

SOURCE_MAC, GUEST_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Bridged:
    """A host of vtax's whose bridge joins two links, and the links' far ends."""

    host: Host
    near: LinkEnd
    far: LinkEnd


@contextmanager
def bridged(directory: Path, *enabled: bool) -> Iterator[Bridged]:
    """A host that is made as testbeds make it, with what they give `Host.create`."""
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", directory)
    record.open()
    host = Host("uut", record, {role: [0] for role in ("agents", "host", "guests", "controller")})
    ends = [
        LinkEnd(Namespace(f"{record.run}-{name}"), "end0", mac)
        for name, mac in (("source", SOURCE_MAC), ("sink", GUEST_MAC))
    ]
    try:
        host.create(*enabled)
        for end in ends:
            record.add(OwnedNamespace(end.namespace.name))
            end.namespace.create()
        for number, end in enumerate(ends):
            make_link(end, LinkEnd(host.namespace, f"in{number}", f"02:00:00:00:01:0{number}"), mtu=1500)
        station = Station(SOURCE_MAC, "198.18.0.2")
        host.open_port("port-in", "bridge", EndPlace("in0", "02:00:00:00:01:00"), [station], [])
        host.attach("port-in", "in1", GUEST_MAC)
        wait_for("ports that forward", lambda: forwarding_ports(host) == 2)
        yield Bridged(host, *ends)
    finally:
        record.clean()
        assert not record.failed


def forwarding_ports(host: Host) -> int:
    """How many ports pass frames on: the kernel lets them a moment after their links are up."""
    shown = subprocess.run(
        ["bridge", "-n", host.namespace.name, "link"], check=True, capture_output=True, text=True
    )
    return shown.stdout.count(" state forwarding ")


def frame(checksum: int) -> bytes:
    """A frame from one end to the other with an IPv4 header of this checksum, and no protocol that anybody has."""
    macs = bytes.fromhex((GUEST_MAC + SOURCE_MAC).replace(":", ""))
    header = (
        bytes.fromhex("4500002800000000 40fd")
        + checksum.to_bytes(2, "big")
        + bytes.fromhex("c6120002c6120003")
    )
    return macs + b"\x08\x00" + header + bytes(26)


def right_checksum() -> int:
    header = frame(0)[14:34]
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, 20, 2))
    return ~(total % 0xFFFF or 0xFFFF) & 0xFFFF


def received(end: LinkEnd) -> int:
    (link,) = end.namespace.netlink(lambda ip: list(ip.get_links(index_of(ip, end.interface))))
    return int(link.get_attr("IFLA_STATS64")["rx_packets"])


def header_errors(host: Host) -> int:
    """What IPv4 itself counted in the host's namespace (InHdrErrors)."""
    names, values = (
        line.split()
        for line in host.namespace.run(Path("/proc/thread-self/net/snmp").read_text).splitlines()[:2]
    )
    return int(values[names.index("InHdrErrors")])


def cross(path: Bridged) -> tuple[int, int]:
    """Send a frame with a wrong IPv4 checksum, then one without fault; how many came, and how many IPv4 refused."""

    def send() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind((path.near.interface, 0))
            sender.send(frame(right_checksum() ^ 1))
            sender.send(frame(right_checksum()))

    came, blamed = received(path.far), header_errors(path.host)
    path.near.namespace.run(send)
    deadline = time.monotonic() + PATIENCE_S
    while (arrived := received(path.far) - came) + header_errors(path.host) - blamed < 2:
        assert time.monotonic() < deadline, "no frame came"
        time.sleep(0.005)
    return arrived, header_errors(path.host) - blamed


def require_br_netfilter() -> None:
    if read_bridge_netfilter() is None:
        pytest.skip("this kernel has no br_netfilter")


class TestNamespaces:
    def test_a_bridge_of_vtaxs_passes_frames_on_and_nowhere_else(self, tmp_path: Path) -> None:
        with bridged(tmp_path) as path:
            assert path.host.bridge_netfilter() in (OFF, None)
            assert cross(path) == (2, 0), "a bridge does not look into a frame"

    def test_a_bridge_passes_frames_to_netfilter_where_that_is_asked_for(self, tmp_path: Path) -> None:
        require_br_netfilter()
        with bridged(tmp_path, True) as path:
            assert path.host.bridge_netfilter() == ON
            assert cross(path) == (1, 1), (
                "IPv4 looks at a header before netfilter has it, and drops a wrong one"
            )

    def test_what_a_namespace_has_is_its_own(self, tmp_path: Path) -> None:
        require_br_netfilter()
        before = read_bridge_netfilter()
        with bridged(tmp_path, True) as one, bridged(tmp_path / "other") as other:
            assert (one.host.bridge_netfilter(), other.host.bridge_netfilter()) == (ON, OFF)
            assert one.near.namespace.run(read_bridge_netfilter) == OFF
            assert read_bridge_netfilter() == before


@pytest.mark.usefixtures("leaves_nothing")
def test_a_campaign_records_what_bridges_did_and_leaves_the_machines_own_alone(tmp_path: Path) -> None:
    require_br_netfilter()
    before = read_bridge_netfilter()
    scenario = write_scenario(SCENARIO, tmp_path)
    out = tmp_path / "out"
    status = main(["run", scenario, "--set", "bridge_netfilter=false,true", "--out", str(out)])
    assert status in (0, 3), "3 where others kept the machine too busy"
    assert read_bridge_netfilter() == before
    rows = (
        Result.open(out)
        .query(
            "SELECT trials.bridge_netfilter AS level, e.bridge_netfilter AS found, own_bridge_netfilter AS own, "
            "reasons FROM trials JOIN environment e USING (trial_id)"
        )
        .to_pylist()
    )
    assert {row["level"] for row in rows} == {"false", "true"}
    for row in rows:
        wanted = ON if row["level"] == "true" else OFF
        assert json.loads(row["found"]) == dict.fromkeys(("source", "uut", "sink"), wanted)
        assert json.loads(row["own"]) == before
        assert not any("netfilter" in reason for reason in row["reasons"])


@pytest.mark.usefixtures("leaves_nothing")
def test_netfilter_that_comes_amid_a_trial_costs_that_trial_alone(
    in_the_trial: Callable[[Act], None], tmp_path: Path
) -> None:
    """As where somebody starts Docker, which loads br_netfilter: it is on then in every namespace that is there."""
    require_br_netfilter()
    in_the_trial(lambda run: Namespace(f"{run}-uut").run(lambda: set_bridge_netfilter(True)))
    out = tmp_path / "out"
    assert main(["run", write_scenario(SCENARIO, tmp_path), "--out", str(out)]) in (0, 3)
    trials = (
        Result.open(out)
        .query(
            "SELECT verdict, reasons, bridge_netfilter AS found FROM trials JOIN environment USING (trial_id) "
            "ORDER BY trial_id"
        )
        .to_pylist()
    )
    (first, *others) = [json.loads(trial["found"])["uut"] for trial in trials]
    assert (first, *others) == (ON, *[OFF] * len(others))
    assert others, "an invalid trial is measured again, on hosts that are made anew"
    blamed = [
        any("against testbed.bridge_netfilter: another program" in why for why in each["reasons"])
        for each in trials
    ]
    assert blamed == [True, *[False] * len(others)]
    assert trials[0]["verdict"] == "invalid"
