"""Guests behind every switch forward real frames; what a switch drops is charged to it, and nothing of it stays."""

import json
from pathlib import Path

import pytest

from vtax.cli import main
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.platform, pytest.mark.usefixtures("leaves_nothing")]

SWITCHES = ["bridge", "routed", "ovs", "macvtap"]
UNACCOUNTED = """
    SELECT * FROM flows JOIN (SELECT trial_id, sum(dropped) AS dropped FROM hops GROUP BY trial_id) USING (trial_id)
    WHERE frames_received = 0 OR frames_sent - frames_received != dropped
"""
"""Trials of one stream whose hops do not add up to what it lost."""
QUICK = ["--repetitions", "1", "--duration", "0.3", "--set", "workload.warmup_s=0"]
PORT = " port in"
"""How the names end of the hops that are switches."""


def run(scenario: Path, out: Path, *options: str) -> Result:
    main(["run", str(scenario), *QUICK, *options, "--out", str(out)])
    return Result.open(out)


def assert_forwarded(result: Result, *switches: str) -> None:
    """Guests forwarded behind each of these switches and no other, and every lost frame was lost at a hop."""
    assert result.query(UNACCOUNTED).to_pylist() == []
    hops = {row["hop"] for row in result.query("SELECT hop FROM hops").to_pylist()}
    assert {hop.removesuffix(PORT) for hop in hops if hop.endswith(PORT)} == set(switches)
    assert "guest forwarding" in hops


def test_a_container_forwards_behind_every_switch(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--platform", "container", "--set", "intended_mbps=5"]
    result = run(scenario, tmp_path / "out", *options, "--set", f"switch={','.join(SWITCHES)},vf")
    assert_forwarded(result, *SWITCHES)
    assert "links of the built-in testbed are veth pairs" in " ".join(capsys.readouterr().err.split())
    facts = json.loads((tmp_path / "out/campaign.json").read_text())["platforms"]["container"]["facts"]
    assert facts["ovs_datapath"] in ("netdev", "system")


def test_a_kernel_of_its_own_forwards_behind_switches(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--platform", "uml", "--set", "intended_mbps=5"]
    result = run(scenario, tmp_path / "out", *options, "--set", "switch=routed,ovs,macvtap")
    assert_forwarded(result, "routed", "ovs")
    assert "told of frames by SIGIO" in " ".join(capsys.readouterr().err.split())


def test_an_emulator_reads_a_macvtap(scenario: Path, tmp_path: Path) -> None:
    options = ["--platform", "qemu-virtio", "--set", "intended_mbps=5", "--set", "switch=macvtap"]
    assert_forwarded(run(scenario, tmp_path / "out", *options), "macvtap")


def test_what_a_switch_has_no_room_for_is_charged_to_it(scenario: Path, tmp_path: Path) -> None:
    options = ["--platform", "container", "--set", "intended_mbps=max", "--set", "switch=ovs"]
    hops = run(scenario, tmp_path / "out", *options).query("SELECT * FROM hops").to_pylist()
    port = next(hop for hop in hops if hop["hop"] == "ovs port in")
    assert port["dropped"] > 0
    assert port["reason"] == "no room in the switch (dropped_port of in0)"
