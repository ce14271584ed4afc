"""Echoes through one router among many on this machine."""

from pathlib import Path

import pytest

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


def assert_answered(result: Result, usable: int) -> None:
    """Echoes come back; where the other guest forwards, it fills the link. A busy machine's trials are left out."""
    flows = result.query(
        "SELECT others, role, guest, transactions, failed, latency_mean_ns, goodput_mbps "
        "FROM trials JOIN flows USING (trial_id) WHERE verdict <> 'invalid'"
    ).to_pylist()
    asked = [flow for flow in flows if flow["role"] == "victim"]
    beside = [flow for flow in flows if flow["role"] == "neighbour"]
    assert len(asked) >= usable
    for flow in asked:
        assert flow["guest"] == 0
        assert flow["transactions"] + flow["failed"] == 200
        assert flow["transactions"] >= 190
        assert 5_000 < flow["latency_mean_ns"] < 1e9
    stressed = [flow for flow in asked if flow["others"] == "tcp"]
    assert [flow["guest"] for flow in beside] == [1] * len(stressed)
    for flow in beside:
        assert flow["goodput_mbps"] == pytest.approx(1448 / 1538 * LINK_MBPS, rel=0.1)


def test_routers_of_the_hosts_kernel_pass_echoes_on(tmp_path: Path) -> None:
    result = measured(tmp_path, "raw,container")
    assert_answered(result, usable=3)
    histograms = result.query("SELECT kind, lost, histogram FROM latency").to_pylist()
    assert {row["kind"] for row in histograms} == {"round-trip"}


def test_routers_with_a_kernel_of_their_own_pass_echoes_on(tmp_path: Path) -> None:
    assert_answered(measured(tmp_path, "uml"), usable=1)
