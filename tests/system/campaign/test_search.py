"""Campaigns that go by what they measure, on this machine: a known capacity, and what a kill leaves of a search."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import assert_measured, trials, vtax
from tests.helpers.footprint import footprint, settles
from tests.helpers.kill_at import CHOSEN, SOON, Instant, run_with_a_kill
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

WARMUP_S, DURATION_S = 0.3, 0.5
# A guest that has no CPU for some milliseconds makes up for them by what the bucket holds.
RATE_MBPS, BURST_BYTES, LIMIT_BYTES = 20.0, 16384, 16384
LIMITED = f"""
name: test/known-capacity
title: A test
question: Do the bounds hold what the guest's kernel lets through?
workload: {{kind: forwarding, warmup_s: {WARMUP_S}, duration_s: {DURATION_S}, frame_bytes: 1500}}
testbed: {{link_mbps: 1000, flow_control: true}}
platform:
  egress_qdisc: tbf rate {RATE_MBPS:g}mbit burst {BURST_BYTES}b limit {LIMIT_BYTES}b overhead 24
search: {{goals: {{NDR: 0, PDR: 0.005}}, relative_width: 0.03, duration_sum_s: 2.5, max_mbps: 40}}
factors: {{platform: [uml]}}
repetitions: 1
"""
CARRIED = """
name: test/carried
title: A test
question: Is a search that was killed the search that it would have been?
workload: {kind: forwarding, warmup_s: 0.1, duration_s: 0.3, frame_bytes: 1500}
testbed: {link_mbps: 1000, flow_control: true}
search: {goals: {half: 0.5}, relative_width: 0.1, duration_sum_s: 1.5, max_mbps: 8}
factors: {platform: [container]}
repetitions: 2
"""
PRECISE = """
name: test/precise
title: A test
question: Do quiet cells end early?
workload: {kind: forwarding, warmup_s: 0.1, duration_s: 0.3, frame_bytes: 1500}
testbed: {link_mbps: 1000, flow_control: true}
precision: {relative_width: 0.05}
factors: {platform: [raw], intended_mbps: [5, 10]}
repetitions: 20
figures: [throughput-by-load]
"""


def written(tmp_path: Path, scenario: str) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(scenario)
    return path


def searches(out: Path) -> list[dict[str, Any]]:
    return Result.open(out).query("SELECT * FROM searches ORDER BY trial_id, loss_ratio").to_pylist()


@pytest.mark.measures
def test_the_bounds_hold_a_known_capacity(tmp_path: Path) -> None:
    """A trial may send more than the rate by what bucket and queue take up before a frame is dropped."""
    path, out = written(tmp_path, LIMITED), tmp_path / "out"
    done = vtax("run", path, "--out", out)
    assert_measured(done)
    taken_up_mbps = 8e-6 * (BURST_BYTES + LIMIT_BYTES) / (WARMUP_S + DURATION_S)
    for found in searches(out):
        most = (RATE_MBPS + taken_up_mbps) / (1 - found["loss_ratio"])
        assert found["lower_mbps"] <= most and found["upper_mbps"] >= RATE_MBPS, found
        assert 1 - found["lower_mbps"] / found["upper_mbps"] <= 0.0301
        assert found["conditional_mbps"] <= found["lower_mbps"]
        assert found["bounded_by"] is None
    if done.returncode == 0:
        assert "of 1500-byte frames at no more than 0.50% loss (PDR, n = 1)" in " ".join(done.stdout.split())


@pytest.mark.parametrize("instant", [SOON[1], SOON[3]], ids=str)
def test_a_killed_search_goes_on_where_it_was(instant: Instant, tmp_path: Path) -> None:
    clean = footprint()
    path, out = written(tmp_path, CARRIED), tmp_path / "out"
    killed = run_with_a_kill(instant, path, out)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = trials(out)
    vtax("clean")
    assert settles(clean)
    assert_measured(vtax("run", path, *CHOSEN, "--resume", out))
    after = trials(out)
    assert {number: after[number] for number in before} == before
    usable = [row for row in after.values() if row["verdict"] != "invalid"]
    for found in searches(out):
        assert (found["lower_mbps"], found["upper_mbps"]) == (8.0, None)
        assert found["bounded_by"] == "the largest load"
    for block in {row["block"] for row in usable}:
        steps = [row["step"] for row in usable if row["block"] == block]
        assert steps == list(range(len(steps)))
    assert Result.open(out).campaign["status"] == "complete"


@pytest.mark.measures
def test_quiet_cells_end_after_the_least_repetitions(tmp_path: Path) -> None:
    path, out = written(tmp_path, PRECISE), tmp_path / "out"
    done = vtax("run", path, "--out", out)
    assert_measured(done)
    cells = Result.open(out).query("SELECT cell, count(*) AS n FROM cells GROUP BY cell").to_pylist()
    assert all(10 <= cell["n"] < 20 for cell in cells)
    if done.returncode == 0:
        assert "Precision" in done.stdout and done.stdout.count("reached") == 2
