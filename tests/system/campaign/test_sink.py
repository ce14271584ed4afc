"""What a campaign tells of its sink: how it is attached, how time and order look there, and its first frames."""

import subprocess
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from vtax.results import Result
from vtax.results.captures import capture_path
from vtax.statistics import decode

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

CAPTURED = 300
GAP_NS = 8000 * (1500 + 24) / 50
"""Between frames of 1500 bytes at 50 Mbit/s."""


@pytest.fixture
def result(scenario: Path, tmp_path: Path) -> Result:
    """One trial on links that native XDP takes, and one on links whose frames are too long for it."""
    options = ["--platform", "raw", "--repetitions", "1", "--set", "mtu=1500,9000"]
    options += ["--set", "frame_bytes=1500", "--set", "intended_mbps=50"]
    options += ["--set", f"workload.capture_frames={CAPTURED}"]
    done = vtax("run", scenario, *options, "--out", tmp_path / "out")
    assert_measured(done)
    assert "frames are counted by xdp-generic: native XDP: cannot attach to snk0" in done.stderr
    return Result.open(tmp_path / "out")


@pytest.mark.measures
def test_a_sink_tells_order_time_and_its_first_frames(result: Result) -> None:
    trials = result.query(
        "SELECT DISTINCT mtu, sink_mode, sink_fallback FROM trials ORDER BY mtu"
    ).to_pylist()
    assert [(row["mtu"], row["sink_mode"]) for row in trials] == [
        ("1500", "xdp-native"),
        ("9000", "xdp-generic"),
    ]
    assert trials[0]["sink_fallback"] is None
    assert trials[1]["sink_fallback"].startswith("native XDP: ")
    for flow in result.query("SELECT * FROM cells WHERE latency_p50_ns IS NOT NULL").to_pylist():
        assert (flow["loss_periods"], flow["longest_loss_frames"], flow["frames_displaced"]) == (0, 0, 0)
        assert flow["reordering_extent_max_frames"] is None
        assert flow["ipdv_count"] == flow["latency_count"] - 1
        assert flow["gap_p50_ns"] == pytest.approx(GAP_NS, rel=0.05)
        assert flow["gap_p50_ns"] < flow["gap_p99_ns"] <= flow["gap_max_ns"]
        rows = [row for row in result.tables["latency"].to_pylist() if row["trial_id"] == flow["trial_id"]]
        samples = {row["kind"]: decode(row["histogram"]).samples for row in rows}
        assert samples["gap"] == flow["frames_received"] - 1
        assert samples["ipdv-positive"] + samples["ipdv-negative"] == flow["ipdv_count"]
        assert_captured(capture_path(result.directory, flow["trial_id"]))


def assert_captured(path: Path) -> None:
    fields = [word for field in ("frame.len", "frame.cap_len", "data.data") for word in ("-e", field)]
    shown = subprocess.run(
        ["tshark", "-r", path, "-T", "fields", *fields], check=True, capture_output=True, text=True
    )
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert {(row[0], row[1]) for row in rows} == {("1500", "256")}
    payloads = [bytes.fromhex(row[2]) for row in rows]
    assert all(payload.startswith(b"vtax") for payload in payloads)
    assert [int.from_bytes(payload[10:14]) for payload in payloads] == list(range(CAPTURED))
