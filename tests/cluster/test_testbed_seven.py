"""schlosser2011's testbed of seven machines: three streams, each from a source of its own to a sink of its own."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import wait_for_line
from tests.helpers.footprint import footprint, settles
from tests.helpers.rack import Rack, rack
from tests.helpers.rack_campaigns import assert_gone_on, ended, ssh_of
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.cluster]

STREAMS = range(3)
CABLES = tuple(
    cable
    for k in STREAMS
    for cable in ((f"gen{k}", "cable0", "uut", f"in{k}"), ("uut", f"out{k}", f"rec{k}", "cable0"))
)
ROLES = "{source: [gen0, gen1, gen2], uut: uut, sink: [rec0, rec1, rec2]}"
LEVELS = ("streams=3", "frame_bytes=64", "intended_mbps=1,2", "workload.warmup_s=0.1")
HOSTS = {"uut": "uut"} | {
    f"{machine}{k}": f"{role}{k or ''}"
    for k in STREAMS
    for machine, role in (("gen", "source"), ("rec", "sink"))
}
"""Which host of the testbed each machine is."""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    before = footprint()
    with rack(tmp_path_factory.mktemp("rack"), CABLES, ROLES) as made:
        yield made
    assert settles(before)


@pytest.fixture(scope="module")
def result(machines: Rack, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Of a campaign that lost the second source's ssh after its first trial, and went on."""
    out = tmp_path_factory.mktemp("seven") / "out"
    options: list[str | Path] = [word for level in LEVELS for word in ("--set", level)]
    options += ["--platform", "raw", "--repetitions", "1", "--duration", "0.3"]
    options += ["--testbed", machines.testbed, "--out", out]
    running = machines.start("run", "schlosser2011/dedicated", *options)
    wait_for_line(running, r"^\[")
    os.kill(ssh_of("gen1", running.pid), signal.SIGKILL)
    assert_gone_on(ended(running))
    return Result.open(out)


def test_every_stream_is_counted_to_the_frame(result: Result) -> None:
    """Three sources on one CPU are late, and their trials invalid: what was sent was counted all the same."""
    flows = result.query(
        "SELECT stream, frames_sent, frames_received, frames_duplicated FROM flows"
    ).to_pylist()
    assert {flow["stream"] for flow in flows} == set(STREAMS)
    for flow in flows:
        assert flow["frames_received"] == flow["frames_sent"] > 0
        assert flow["frames_duplicated"] == 0


def test_every_streams_way_is_its_own(result: Result) -> None:
    hops = result.query(
        "SELECT stream, hop, sum(received) AS received, sum(dropped) AS dropped FROM hops GROUP BY ALL"
    ).to_pylist()
    assert all(hop["received"] > 0 and not hop["dropped"] for hop in hops)
    assert {(hop["stream"], hop["hop"]) for hop in hops} >= {
        (stream, name) for stream in STREAMS for name in ("link", "sink")
    }
    cpu = result.query("SELECT DISTINCT host FROM cpu WHERE domain IN ('source', 'sink')")
    assert set(cpu["host"].to_pylist()) == set(HOSTS.values()) - {"uut"}


def test_a_source_that_is_cut_off_costs_its_trial_alone(result: Result) -> None:
    trials = result.query("SELECT verdict, reasons[1] AS reason FROM trials ORDER BY trial_id").to_pylist()
    lost = [trial["reason"] for trial in trials if "gen1" in trial["reason"]]
    assert len(lost) == 1
    assert lost[0].startswith("instrument failed")
    assert result.campaign["status"] == "complete"


def test_every_machine_is_told(result: Result) -> None:
    told = {name: facts["roles"] for name, facts in result.campaign["hosts"].items()}
    assert told == HOSTS
    rows = result.query(
        "SELECT host, roles, count(DISTINCT kernel) AS kernels, count(*) AS n FROM environment GROUP BY ALL"
    ).to_pylist()
    assert {row["host"]: row["roles"] for row in rows} == HOSTS
    assert {row["kernels"] for row in rows} == {1}
    (trials,) = result.query("SELECT count(*) AS n FROM trials").to_pylist()
    assert {row["n"] for row in rows} == {trials["n"]}


def test_nothing_is_left(machines: Rack, result: Result) -> None:
    assert machines.settles()
