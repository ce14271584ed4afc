"""Neighbours on this machine: what they do beside a guest, and what a cap leaves of it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.disturb import Act
from tests.helpers.records import owned_processes
from tests.helpers.scenarios import write_scenario
from vtax.cli import main
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

FORWARDING = """
name: own/beside
title: Beside a neighbour
question: What does it do?
workload: {kind: forwarding, warmup_s: 0.2, duration_s: 0.5, frame_bytes: 64, intended_mbps: 5, cpu_samples_hz: 499}
testbed: {link_mbps: 1000, flow_control: true, neighbours: light}
factors:
  platform: [raw]
repetitions: 1
"""
REQUESTS = """
name: own/co-located
title: Co-located
question: What does a cap leave?
workload: {kind: requests, placement: inter-host, warmup_s: 0.3, duration_s: 1, message_bytes: 1024}
testbed: {link_mbps: 100, flow_control: true, neighbours: bulk, neighbour_guests: 2, cap_mbps: 10}
factors:
  platform: [raw, container]
repetitions: 1
"""
CAPPED_GOODPUT_MBPS = 10 * 1448 / 1538


def measured(scenario: str, directory: Path, *options: str) -> Result:
    path = write_scenario(scenario, directory)
    main(["run", path, *options, "--out", str(directory / "out")])
    return Result.open(directory / "out")


def test_neighbours_work_and_forward_beside_a_guest(tmp_path: Path) -> None:
    options = (
        "--platform",
        "raw,container",
        "--set",
        "neighbours=heavy,forward",
        "--set",
        "neighbour_guests=2",
    )
    result = measured(FORWARDING, tmp_path, *options)
    rows = result.query(
        "SELECT platform, neighbours, role, guest, flows.intended_mbps, received_mbps, neighbour_maximum_mbps"
        " FROM trials JOIN flows USING (trial_id)"
    ).to_pylist()
    beside = [row for row in rows if row["role"] == "neighbour"]
    assert {(row["platform"], row["neighbours"], row["guest"]) for row in beside} == {
        (platform, "forward", guest) for platform in ("raw", "container") for guest in (0, 1)
    }
    for row in beside:
        assert row["intended_mbps"] == pytest.approx(0.5 * row["neighbour_maximum_mbps"])
        assert row["received_mbps"] > 0
    busy = "SELECT DISTINCT platform, guest FROM trials JOIN cpu USING (trial_id)"
    busy += " WHERE neighbours = 'heavy' AND domain = 'neighbour' AND samples > 0"
    told = {(row["platform"], row["guest"]) for row in result.query(busy).to_pylist()}
    assert told == {(platform, guest) for platform in ("raw", "container") for guest in (0, 1)}


@pytest.mark.measures
def test_a_cap_holds_for_each_guest_within_two_percent(tmp_path: Path) -> None:
    rows = (
        measured(REQUESTS, tmp_path)
        .query("SELECT platform, role, goodput_mbps, transactions FROM trials JOIN flows USING (trial_id)")
        .to_pylist()
    )
    for platform in ("raw", "container"):
        here = [row for row in rows if row["platform"] == platform]
        sent = [row["goodput_mbps"] for row in here if row["role"] == "neighbour"]
        assert max(sent) == pytest.approx(CAPPED_GOODPUT_MBPS, rel=0.02)
        assert all(row["transactions"] > 0 for row in here if row["role"] == "victim")


@pytest.mark.measures
def test_a_cap_holds_for_what_a_guest_forwards(tmp_path: Path) -> None:
    sets = (
        "neighbours=none",
        "intended_mbps=20",
        "cap_mbps=5",
        "workload.warmup_s=1",
        "workload.duration_s=1",
    )
    options = [word for each in sets for word in ("--set", each)]
    result = measured(FORWARDING, tmp_path, "--platform", "container", *options)
    received = [row["received_mbps"] for row in result.query("SELECT received_mbps FROM flows").to_pylist()]
    assert max(received) == pytest.approx(5, rel=0.02)


def test_a_dead_neighbour_makes_a_trial_invalid(tmp_path: Path, in_the_trial: Callable[[Act], None]) -> None:
    def kill(run: str) -> None:
        owned = owned_processes(run)
        (neighbour,) = [detail.pid for detail in owned if detail.name == "neighbour0"]
        os.kill(neighbour, signal.SIGKILL)

    in_the_trial(kill)
    result = measured(FORWARDING, tmp_path)
    trials = result.query("SELECT verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    assert trials[0]["verdict"] == "invalid"
    assert "neighbour0 died: the trial does not show the guest's performance" in trials[0]["reasons"]
