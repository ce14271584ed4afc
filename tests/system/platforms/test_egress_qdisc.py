"""The queueing discipline that a guest sends through, applied by the guest's own kernel."""

import textwrap
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.egress_qdisc import SCENARIO
from vtax.results import Result

pytestmark = pytest.mark.system


@pytest.mark.usefixtures("leaves_nothing")
def test_a_guests_kernel_does_what_is_asked(tmp_path: Path) -> None:
    """Generous bounds: the machine may be busy. The validation holds the values themselves."""
    path, out = tmp_path / "scenario.yaml", tmp_path / "out"
    path.write_text(textwrap.dedent(SCENARIO))
    assert_measured(vtax("run", path, "--out", out))
    result = Result.open(out)
    rows = result.query(
        'SELECT "platform.egress_qdisc" AS qdisc, max(loss_ratio) AS loss, max(received_mbps) AS mbps, '
        "max(latency_min_ns) AS delay_ns FROM trials JOIN flows USING (trial_id) GROUP BY 1"
    ).to_pylist()
    found = {row["qdisc"].partition(" ")[0]: row for row in rows}
    assert 0.05 < found["netem"]["loss"] < 0.2
    bucket = 1 / 128  # of the sink's histogram, whose least value is the lower edge of one
    assert found["netem"]["delay_ns"] is None or found["netem"]["delay_ns"] >= 20e6 * (1 - bucket)
    assert found["tbf"]["mbps"] < 20.4
    drops = result.query(
        'SELECT hop, reason, "platform.egress_qdisc" AS qdisc FROM hops JOIN trials USING (trial_id) '
        "WHERE dropped > 0 AND hop = 'guest egress'"
    ).to_pylist()
    assert {drop["qdisc"].partition(" ")[0] for drop in drops} >= {"netem", "tbf"}
    for drop in drops:
        assert drop["reason"].startswith(f"dropped by {drop['qdisc']} (dropped_queue of the guest's vec1")


@pytest.mark.usefixtures("leaves_nothing")
def test_a_guest_that_holds_frames_for_long_is_named(tmp_path: Path) -> None:
    """A queue that takes many seconds to empty: the drain ends before, and the next trial meets frames of the last."""
    path, out = tmp_path / "scenario.yaml", tmp_path / "out"
    held = SCENARIO.replace("[30]", "[25, 30]").replace("default, netem loss 10% delay 20ms, ", "")
    path.write_text(held.replace("rate 20mbit burst 8kb limit 32kb", "rate 2mbit burst 8kb limit 4mb"))
    assert_measured(vtax("run", path, "--out", out))
    rows = Result.open(out).query("SELECT reasons FROM trials ORDER BY trial_id").to_pylist()
    first, *_, last = ["; ".join(row["reasons"]) for row in rows]
    assert "frames still arrived when the drain's two seconds were over" in first
    assert "frames of another trial" in last
