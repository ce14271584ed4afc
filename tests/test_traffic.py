"""Kinds of traffic on this machine: what the sink counts of each, through real platforms."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.test_campaign import assert_measured, vtax
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


def flows(done: "subprocess.CompletedProcess[str]", out: Path) -> list[dict[str, Any]]:
    """The flows of a campaign's trials, whose frames were all the sink's own."""
    assert_measured(done)
    found = Result.open(out).query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert found
    for flow in found:
        assert not [reason for reason in flow["reasons"] if "length" in reason or "foreign" in reason]
    return [dict(flow) for flow in found]


def test_a_mix_is_offered_at_its_layer_1_rate(scenario: Path, tmp_path: Path) -> None:
    options = ["--set", "frame_bytes=imix", "--set", "intended_mbps=20", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "raw", *options, "--out", tmp_path / "out")
    for flow in flows(done, tmp_path / "out"):
        assert (flow["frame_bytes"], flow["frame_mix"]) == (None, "imix")
        assert flow["frames_received"] > 1000
        if not flow["frames_lost"]:
            assert flow["received_mbps"] == pytest.approx(flow["offered_mbps"])
        mean_bits = flow["offered_mbps"] * 1e6 / flow["offered_fps"]
        assert mean_bits == pytest.approx(8 * ((7 * 64 + 4 * 590 + 1514) / 12 + 24), rel=1e-3)
