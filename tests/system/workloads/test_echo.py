"""Echoes through one router among many on this machine."""

from pathlib import Path

import pytest

from tests.helpers.campaigns import DISTURBED
from vtax.cli import main
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

LINK_MBPS = 100
SCENARIO = f"""
name: own/echo
title: Echoes
question: How long?
workload: {{kind: echo, interval_ms: 5, warmup_s: 0.5, duration_s: 1}}
testbed: {{link_mbps: {LINK_MBPS}, flow_control: true, uplink: shared}}
factors:
  platform: [raw]
  guests: [2]
  others: [idle, tcp]
repetitions: 1
"""


def measured(directory: Path, platforms: str) -> Result:
    path = directory / "echo.yaml"
    path.write_text(SCENARIO.lstrip())
    main(["run", str(path), "--platform", platforms, "--out", str(directory / "out")])
    return Result.open(directory / "out")


@pytest.mark.measures
def test_routers_pass_echoes_on(tmp_path: Path) -> None:
    """Where the other guest forwards it fills the link, unless others kept the machine busy."""
    result = measured(tmp_path, "raw,container,uml")
    trials = result.query("SELECT trial_id, cell, others, verdict, reasons FROM trials").to_pylist()
    flows = result.query("SELECT * FROM flows").to_pylist()
    assert len({trial["cell"] for trial in trials}) == 6
    for trial in trials:
        invalid = trial["verdict"] == "invalid"
        assert not invalid or any(words in trial["reasons"][0] for words in DISTURBED), trial
        own = [flow for flow in flows if flow["trial_id"] == trial["trial_id"]]
        (asked,) = (flow for flow in own if flow["role"] == "victim")
        beside = [flow for flow in own if flow["role"] == "neighbour"]
        assert asked["guest"] == 0
        assert asked["transactions"] + asked["failed"] == 200
        assert asked["transactions"] >= 190
        assert 5_000 < asked["latency_mean_ns"] < 1e9
        assert [flow["guest"] for flow in beside] == ([1] if trial["others"] == "tcp" else [])
        if not invalid:
            full = pytest.approx(1448 / 1538 * LINK_MBPS, rel=0.1)
            assert all(flow["goodput_mbps"] == full for flow in beside)
    histograms = result.query("SELECT kind, lost, histogram FROM latency").to_pylist()
    assert {row["kind"] for row in histograms} == {"round-trip"}
