"""Kinds of traffic on this machine: what the sink counts of each, through real platforms."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

CYCLE = 12
"""Frames after which a mix has each length in its share."""

QUEUES_INTO_GUESTS = ("tap queue", "guest ring")
"""Hops at which a guest that gets too little of a CPU loses frames, and one that forwards nothing loses none."""


def flows(done: "subprocess.CompletedProcess[str]", out: Path) -> list[dict[str, Any]]:
    """The flows of a campaign's trials, whose frames were all the sink's own."""
    assert_measured(done)
    found = Result.open(out).query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert found
    for flow in found:
        assert not [reason for reason in flow["reasons"] if "length" in reason or "foreign" in reason]
    return [dict(flow) for flow in found]


def assert_forwarded(out: Path) -> None:
    """Each unit under test forwarded what its kernel took, on a machine however busy."""
    query = "SELECT trials.*, hops.* FROM trials JOIN hops USING (trial_id)"
    for hop in Result.open(out).query(query).to_pylist():
        assert hop["forwarded"] > 0, hop
        if hop["hop"] not in QUEUES_INTO_GUESTS:
            assert hop["dropped"] < 0.1 * hop["received"], hop


def test_a_mix_is_offered_at_its_layer_1_rate(scenario: Path, tmp_path: Path) -> None:
    options = ["--set", "frame_bytes=imix", "--set", "intended_mbps=20", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "raw", *options, "--out", tmp_path / "out")
    for flow in flows(done, tmp_path / "out"):
        assert (flow["frame_bytes"], flow["frame_mix"]) == (None, "imix")
        assert flow["frames_received"] > 0
        if not flow["frames_lost"]:
            assert flow["received_mbps"] == pytest.approx(flow["offered_mbps"])
        mean_bits = flow["offered_mbps"] * 1e6 / flow["offered_fps"]
        assert mean_bits == pytest.approx(
            8 * ((7 * 64 + 4 * 590 + 1514) / 12 + 24), rel=max(1e-3, CYCLE / flow["frames_sent"])
        )


def test_every_platform_forwards_ipv6(scenario: Path, tmp_path: Path) -> None:
    platforms = ["raw", "container", "uml", "qemu-virtio"]
    options = ["--set", "ip_version=6", "--set", "frame_bytes=84", "--set", "flows=100", "--repetitions", "1"]
    load = ["--set", "intended_mbps=5", "--duration", "1"]
    done = vtax(
        "run", scenario, "--platform", ",".join(platforms), *options, *load, "--out", tmp_path / "out"
    )
    found = flows(done, tmp_path / "out")
    assert {flow["platform"] for flow in found} == set(platforms)
    assert_forwarded(tmp_path / "out")


def test_guests_forward_tagged_frames_and_a_kernel_without_vlans_is_refused(
    scenario: Path, tmp_path: Path
) -> None:
    options = [
        "--set",
        "vlan=7",
        "--set",
        "ip_version=4,6",
        "--set",
        "frame_bytes=imix",
        "--repetitions",
        "1",
    ]
    load = ["--set", "intended_mbps=5", "--duration", "1"]
    done = vtax("run", scenario, "--platform", "raw,uml", *options, *load, "--out", tmp_path / "out")
    query = "SELECT * FROM trials JOIN flows USING (trial_id)"
    found = Result.open(tmp_path / "out").query(query).to_pylist()
    platforms = {"raw", "uml"} if Path("/proc/net/vlan").exists() else {"uml"}
    assert {(flow["platform"], flow["ip_version"]) for flow in found} == {
        (platform, version) for platform in platforms for version in ("4", "6")
    }
    assert_forwarded(tmp_path / "out")
    if platforms == {"uml"}:
        assert "this kernel has no 8021q; needs a kernel with module 8021q" in done.stderr
        assert done.returncode == 3


FLOOD = ["--set", "intended_mbps=max", "--set", "flows=100", "--duration", "0.5", "--repetitions", "1"]
MECHANISMS = ["--set", "workload.mechanism=raw,af_xdp"]


def test_floods_of_mixes_flows_and_ipv6_come_as_they_left_by_either_mechanism(
    scenario: Path, tmp_path: Path
) -> None:
    """Held back by the link, whose frames are sent again: none is lost for that, none comes twice or overtakes."""
    options = [*FLOOD, *MECHANISMS, "--set", "frame_bytes=84,imix", "--set", "ip_version=6"]
    done = vtax("run", scenario, "--platform", "raw", *options, "--out", tmp_path / "out")
    found = flows(done, tmp_path / "out")
    assert {(flow["workload.mechanism"], flow["frame_bytes"]) for flow in found} == {
        (mechanism, frame_bytes) for mechanism in ("raw", "af_xdp") for frame_bytes in (84, None)
    }
    for flow in found:
        assert flow["mechanism"] == flow["workload.mechanism"]
        assert flow["frames_sent"] > 1000
        odd = flow["frames_lost"], flow["frames_duplicated"], flow["frames_reordered"]
        assert odd == (0, 0, 0), flow


def test_tagged_floods_reach_a_guest_by_either_mechanism(scenario: Path, tmp_path: Path) -> None:
    """The guest's kernel takes the tag off: what it is too slow for it loses, and nothing comes twice."""
    options = [*FLOOD, *MECHANISMS, "--set", "frame_bytes=imix", "--set", "vlan=7"]
    done = vtax("run", scenario, "--platform", "uml", *options, "--out", tmp_path / "out")
    found = flows(done, tmp_path / "out")
    assert {flow["mechanism"] for flow in found} == {"raw", "af_xdp"}
    assert Result.open(tmp_path / "out").scenario["workload"]["vlan"] == 7
    for flow in found:
        assert flow["frames_received"] > 0
        assert (flow["frames_duplicated"], flow["frames_reordered"]) == (0, 0), flow


def test_two_threads_of_a_source_send_each_frame_once(scenario: Path, tmp_path: Path) -> None:
    """One of them has a CPU of the unit under test here, and says so; no frame is missed or counted twice for that."""
    options = ["--set", "source_threads=2", "--set", "flows=6", "--set", "frame_bytes=64,imix"]
    loads = [
        "--set",
        "intended_mbps=20,max",
        "--set",
        "link_mbps=1000",
        "--duration",
        "1",
        "--repetitions",
        "1",
    ]
    done = vtax("run", scenario, "--platform", "raw", *options, *loads, "--out", tmp_path / "out")
    found = flows(done, tmp_path / "out")
    assert {(flow["frame_bytes"], flow["intended_mbps"]) for flow in found} == {
        (frame_bytes, mbps) for frame_bytes in (64, None) for mbps in (20, None)
    }
    for flow in found:
        assert flow["source_cpus"] == "0 1"
        odd = flow["frames_lost"], flow["frames_duplicated"], flow["frames_reordered"]
        assert odd == (0, 0, 0), flow
        assert flow["frames_received"] == flow["frames_sent"] > 1000
        assert (flow["loss_periods"], flow["longest_loss_frames"]) == (0, 0)
    busy = Result.open(tmp_path / "out").query(
        "SELECT * FROM cpu WHERE domain = 'source' AND component = 'thread'"
    )
    assert busy.num_rows == len(found)
