"""Routers behind one uplink, for real: each has its share of it, and what is beyond that is lost in the switch."""

from pathlib import Path
from typing import Any

import pytest

from vtax.cli import main
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

Row = dict[str, Any]
GUESTS = 2
SHARE = 0.99
"""Of a stream's lost frames that must be charged to the hop that lost them."""
SCENARIO = """
name: test/routers
title: A test
question: Has each router its share?
workload: {kind: forwarding, warmup_s: 0, duration_s: 2, frame_bytes: 1514}
testbed: {link_mbps: 50, flow_control: true, uplink: shared, guests: 2}
factors:
  platform: [raw]
repetitions: 1
figures: [maximum-by-streams]
"""


def run(directory: Path, *options: str) -> Result:
    path = directory / "routers.yaml"
    path.write_text(SCENARIO)
    main(["run", str(path), *options, "--out", str(directory / "out")])
    return Result.open(directory / "out")


@pytest.mark.measures
def test_sources_that_flood_share_the_uplink(tmp_path: Path) -> None:
    """On a machine that is too busy the sources do not fill it; what is lost is charged to the switch all the same."""
    result = run(tmp_path, "--platform", "raw,container,uml")
    last = "trial_id IN (SELECT max(trial_id) FROM trials GROUP BY platform)"
    trials = result.query(f"SELECT * FROM trials WHERE {last}").to_pylist()  # noqa: S608
    assert sorted(trial["platform"] for trial in trials) == ["container", "raw", "uml"]
    for trial in trials:
        own = f"trial_id = {trial['trial_id']}"
        flows = result.query(f"SELECT * FROM flows WHERE {own} ORDER BY stream").to_pylist()  # noqa: S608
        hops = result.query(f"SELECT * FROM hops WHERE {own}").to_pylist()  # noqa: S608
        assert_shared(trial, flows, hops)


def assert_shared(trial: Row, flows: list[Row], hops: list[Row]) -> None:
    assert (trial["guests"], trial["streams"], trial["uut_context"]) == (GUESTS, GUESTS, "own")
    assert [(flow["guest"], flow["stream"]) for flow in flows] == [(0, 0), (1, 1)]
    for flow in flows:
        charged = {hop["hop"]: hop["dropped"] for hop in hops if hop["stream"] == flow["stream"]}
        assert SHARE * flow["frames_lost"] <= sum(charged.values()) <= flow["frames_lost"] / SHARE, charged
        assert charged["switch"] >= SHARE * sum(charged.values()), charged
    told = {hop["reason"] for hop in hops if hop["hop"] == "switch"}
    assert told == {"queue full (dropped_queue of trunk-in)"}
    if trial["verdict"] != "invalid":
        assert "uplink-limited" in trial["marks"]
        for flow in flows:
            assert flow["loss_ratio"] == pytest.approx(1 - 1 / GUESTS, abs=0.05)
            assert flow["received_mbps"] == pytest.approx(50 / GUESTS, rel=0.1)
            assert flow["latency_p50_ns"] is None  # it would be the switch's


def test_below_the_uplinks_rate_the_switch_loses_nothing(tmp_path: Path) -> None:
    result = run(tmp_path, "--platform", "container", "--set", "intended_mbps=5", "--set", "guests=1,2")
    flows = result.query("SELECT * FROM trials JOIN flows USING (trial_id) WHERE attempt = 0").to_pylist()
    assert sorted((flow["guests"], flow["guest"]) for flow in flows) == [(1, 0), (2, 0), (2, 1)]
    dropped = result.query(
        "SELECT trial_id, stream, sum(dropped) AS n, sum(dropped) FILTER (hop = 'switch') AS by_switch "
        "FROM hops GROUP BY ALL"
    ).to_pylist()
    drops = {(row["trial_id"], row["stream"]): row for row in dropped}
    for flow in flows:
        own = drops[flow["trial_id"], flow["stream"]]
        assert flow["frames_received"] > 0
        assert (flow["frames_lost"], own["by_switch"] or 0) == (own["n"], 0)
        assert "uplink-limited" not in flow["marks"]
        if flow["verdict"] != "invalid":
            assert flow["latency_count"] > 0
