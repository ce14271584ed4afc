"""Requests between hosts and guests of this machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.campaigns import DISTURBED
from tests.helpers.disturb import Act
from vtax.cli import main
from vtax.machine.cpu_latency import CPU_LATENCY
from vtax.results import Result
from vtax.statistics import samples_needed
from vtax.views.summary import summarise

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

SCENARIO = """
name: own/requests
title: Requests
question: How long?
workload: {kind: requests, warmup_s: 0.3, duration_s: 0.7}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [raw]
repetitions: 1
"""
WIRE_NS = 2 * 65536 * 1538 / 1448 * 8
"""What 64 KiB and as much back take on a wire of 1000 Mbit/s."""


def measured(directory: Path, platforms: str, *sets: str) -> Result:
    path = directory / "requests.yaml"
    path.write_text(SCENARIO.lstrip())
    options = [word for each in sets for word in ("--set", each)]
    main(["run", str(path), "--platform", platforms, *options, "--out", str(directory / "out")])
    return Result.open(directory / "out")


def assert_answered(result: Result, cells: int) -> None:
    """All requests were answered, one at a time, unless others kept the machine busy."""
    rows = result.query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert len({row["cell"] for row in rows}) == cells
    for row in rows:
        invalid = row["verdict"] == "invalid"
        disturbed = (*DISTURBED, "taken from the client")
        assert not invalid or any(words in row["reasons"][0] for words in disturbed), row
        assert (row["failed"], row["loss_ratio"]) == (0, 0.0)
        assert row["transactions"] > 0
        if row["transactions"] >= samples_needed(0.5):
            assert row["latency_min_ns"] <= row["latency_p50_ns"] <= row["latency_max_ns"]
        # One at a time: all of them together last no longer than the window, and the one that ends it.
        window_ns = 1e9 * row["duration_s"] + row["latency_max_ns"]
        assert 0 < row["transactions"] * row["latency_mean_ns"] <= window_ns


def test_bare_hosts_and_containers_answer_over_the_link(tmp_path: Path) -> None:
    result = measured(tmp_path, "raw,container", "placement=inter-host", "message_bytes=1,65536")
    assert_answered(result, cells=4)
    rows = result.query("SELECT cell, message_bytes, latency_min_ns FROM cells").to_pylist()
    # A busy machine is slower, and never faster than the wire.
    assert all(row["latency_min_ns"] > 0.9 * WIRE_NS for row in rows if row["message_bytes"] == 65536), rows
    if len({row["cell"] for row in rows}) == 4:
        added = summarise(result).added["added-times"]
        assert [(row.cell.platform, row.reference) for row in added] == [("container", "raw")] * 2


@pytest.mark.measures
def test_a_container_answers_a_peer_and_its_neighbour_by_a_clock(tmp_path: Path) -> None:
    sets = ("placement=guest-to-peer,intra-host", "transport=udp", "loop=open", "requests_per_s=200")
    result = measured(tmp_path, "container", *sets)
    assert_answered(result, cells=2)
    flows = result.query("SELECT transactions FROM flows").to_pylist()
    assert all(row["transactions"] == pytest.approx(140, abs=1) for row in flows)
    kinds = "SELECT list(corrected ORDER BY corrected) AS kinds FROM latency GROUP BY trial_id"
    assert all(row["kinds"] == [False, True] for row in result.query(kinds).to_pylist())


def test_idle_cpus_stay_out_of_deep_sleep_whoever_asks(
    tmp_path: Path, in_the_trial: Callable[[Act], None]
) -> None:
    """As where a bare host asks; an agent in a container cannot see to it."""
    found: list[int] = []
    in_the_trial(lambda _: found.append(int.from_bytes(CPU_LATENCY.read_bytes(), "little")))
    measured(tmp_path, "container", "placement=inter-host")
    assert found == [0]


def test_guests_with_kernels_of_their_own_answer_each_other(tmp_path: Path) -> None:
    result = measured(tmp_path, "uml,qemu-virtio", "placement=inter-host", "transport=tcp,sctp")
    assert_answered(result, cells=4)
