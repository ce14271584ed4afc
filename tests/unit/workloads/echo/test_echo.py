"""Echoes through one router among many: what a scenario may ask, and what is made of what the ends tell."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.helpers.scenarios import refusal_of, write_scenario
from tests.helpers.trials import make_durations, make_flows
from vtax.agent_api import EchoCollectAnswer, EchoGoAnswer
from vtax.campaign.state import Trial
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.keys.testbed import TestbedSettings
from vtax.scenario import load_scenario
from vtax.trial.observed import Observed
from vtax.trial.verdict import Verdict
from vtax.workloads.bulk.keys import Bulk
from vtax.workloads.echo.keys import Echo
from vtax.workloads.echo.measure.trial import EchoTrial

SCENARIO = """
name: own/echo
title: Echoes
question: How long?
workload: {kind: echo}
testbed: {link_mbps: 1000, flow_control: true, uplink: shared}
factors:
  platform: [raw]
  guests: [1, 2]
  others: [idle, tcp]
repetitions: 1
"""
SECOND_NS = 1_000_000_000
PLACE = {"block": 0, "attempt": 0, "search": None, "step": None}
written = partial(write_scenario, SCENARIO)


def test_what_the_others_do_needs_no_other_testbed(tmp_path: Path) -> None:
    cells = load_scenario(written(tmp_path)).cells()
    assert len({cell.plot for cell in cells}) == 2
    assert [cell.of(Echo).others for cell in cells] == ["idle", "tcp"] * 2
    with pytest.raises(TypeError, match="is echo, not Bulk"):
        assert cells[0].of(Bulk)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "kind: echo",
            "kind: echo, payload_bytes: 1473",
            "workload.payload_bytes: 1473 does not fit a packet of mtu 1500; allowed: 16 to 1472",
        ),
        (
            "kind: echo",
            "kind: echo, payload_bytes: 15",
            "workload.payload_bytes: 15 is too small; allowed: 16",
        ),
        ("kind: echo", "kind: echo, interval_ms: 0.5", "workload.interval_ms: 0.5 is too small; allowed: 1"),
        (
            "kind: echo",
            "kind: echo, duration_s: 1, interval_ms: 1001",
            "workload.interval_ms: 1001 ms are longer than the measurement; allowed: at most duration_s",
        ),
        ("[idle, tcp]", "[udp]", 'factors.others: "udp" is not allowed; allowed: idle, tcp'),
        ("others: [idle, tcp]", "streams: [1]", "factors.streams: echo workloads have no such key"),
        (
            "repetitions: 1",
            "repetitions: 1\nsearch: {}",
            "search: a search is for frames; leave it out, or the echo workload",
        ),
        (
            "repetitions: 1",
            "repetitions: 5\nprecision: {relative_width: 0.1}",
            "precision: precision is of what is carried, and echo workloads are timed; leave it out",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal_of(written(tmp_path, old, new))


def test_a_router_on_links_of_its_own_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SCENARIO.replace(", uplink: shared", "").replace("[1, 2]", "[1]"))
    with pytest.raises(InputError, match=r"testbed.uplink: the guests of echo workloads are behind one link"):
        load_scenario(str(path))


def test_anhalt2009_latency_is_the_papers_experiment() -> None:
    """Table III: 1, 2, 4 and 8 routers, idle and stressed."""
    cells = load_scenario("anhalt2009/latency").cells()
    assert {(cell.testbed.guests, cell.of(Echo).others) for cell in cells} == {
        (guests, others) for guests in (1, 2, 4, 8) for others in ("idle", "tcp")
    }
    assert {cell.of(Echo).stress.transport for cell in cells} == {"tcp"}
    assert {(cell.testbed.link_mbps, cell.of(Echo).payload_bytes) for cell in cells} == {(1000.0, 56)}


def echoed(guests: int = 3, lost: int = 0, **work: Any) -> EchoTrial:
    """A whole trial of a second: 100 echoes of 1 to 100 µs, those that were lost left out, and the others' streams."""
    workload = Echo.model_validate(
        {"kind": "echo", "warmup_s": 1.0, "duration_s": 1.0, "others": "tcp", **work}
    )
    cell = Cell(
        key=f"platform=raw guests={guests}",
        factors={"platform": "raw", "guests": guests},
        workload=workload,
        testbed=TestbedSettings(link_mbps=1000.0, flow_control=True, uplink="shared", guests=guests),
        platform="raw",
        platform_overrides={},
        plot="platform=raw",
    )
    measured = EchoTrial(Observed(1, cell, datetime.now(UTC)))
    times_ns = 1000 * np.arange(1, 101 - lost)
    measured.echoes = EchoGoAnswer(
        start_ns=0, end_ns=SECOND_NS, aborted=False, cpu_latency_held=True, thread=None
    )
    measured.tally = EchoCollectAnswer(
        sent=100,
        received=100 - lost,
        lost=lost,
        duplicated=0,
        strays=0,
        last_problem=None,
        latency=make_durations(times_ns),
    )
    if workload.others == "tcp":
        measured.others = {guest: make_flows(guest * 1_000_000) for guest in range(1, guests)}
    measured.observed.wall_s = 2.5
    return measured


def test_echoes_are_the_first_guests_and_streams_the_neighbours() -> None:
    measured = echoed()
    rows = measured.record(measured.judgement(), PLACE, "local")
    trial = rows.trial
    assert (trial["guests"], trial["others"], trial["payload_bytes"], trial["interval_ms"]) == (
        3,
        "tcp",
        56,
        10.0,
    )
    assert (trial["verdict"], trial["start_spread_ms"], trial["overhead_s"]) == ("valid", 2.0, 0.5)
    assert [(row["role"], row["guest"]) for row in rows.flows] == [
        ("victim", 0),
        ("neighbour", 1),
        ("neighbour", 2),
    ]
    asked, beside = rows.flows[:2]
    assert (asked["transactions"], asked["failed"], asked["loss_ratio"]) == (100, 0, 0.0)
    assert (asked["latency_mean_ns"], asked["latency_min_ns"], asked["latency_max_ns"]) == (
        50_500,
        1000,
        100_000,
    )
    assert asked["latency_p50_ns"] == pytest.approx(50_000, rel=0.01)
    assert asked["latency_p99_ns"] is None
    assert beside["goodput_mbps"] == 100.0
    assert {(row["role"], row["guest"]) for row in rows.series} == {("neighbour", 1), ("neighbour", 2)}
    (histogram,) = rows.latency
    assert (histogram["kind"], histogram["lost"]) == ("round-trip", 0)
    assert Trial.of(rows).usable
    assert measured.headline() == (
        "mean round trip 0.051 ms, lost 0 of 100; beside it goodput 200.0 Mbit/s, 100.0 to 100.0 a guest"
    )


def test_a_lost_echo_is_later_than_every_other() -> None:
    """Of 100 echoes the 20 slowest never came: the median is where it was, the 90th percentile beyond all."""
    measured = echoed(lost=20, others="idle")
    (asked,) = measured.record(measured.judgement(), PLACE, "local").flows
    assert (asked["transactions"], asked["failed"], asked["loss_ratio"]) == (80, 20, 0.2)
    assert asked["latency_p50_ns"] == pytest.approx(50_000, rel=0.01)
    assert asked["latency_p90_ns"] is None
    assert asked["latency_mean_ns"] == 40_500


def test_nothing_answered_is_a_result() -> None:
    measured = echoed(others="idle")
    measured.tally = replace(measured.tally, received=0, lost=100, latency=make_durations([]))
    judgement = measured.judgement()
    (asked,) = measured.record(judgement, PLACE, "local").flows
    assert judgement.verdict is Verdict.VALID
    assert (asked["failed"], asked["loss_ratio"], asked["latency_p50_ns"]) == (100, 1.0, None)
    assert measured.headline() == "no echo was answered, lost 100 of 100"


def test_late_and_double_answers_are_results() -> None:
    measured = echoed()
    measured.tally = replace(measured.tally, strays=3, duplicated=4)
    assert (measured.judgement().verdict, measured.judgement().reasons) == (Verdict.VALID, ())


def test_what_is_wrong_with_the_ends_is_named() -> None:
    measured = echoed()
    measured.tally = replace(measured.tally, last_problem="No buffer space available")
    late, broken = measured.others[1], measured.others[2]
    broken.sent = [replace(sent, problem="Connection reset by peer") for sent in broken.sent]
    late.run = replace(late.run, start_ns=11_000_000)
    judgement = measured.judgement()
    assert judgement.verdict is Verdict.INVALID
    assert judgement.reasons == (
        "flow 0 of guest 2 broke off where it is sent: Connection reset by peer",
        "the sender's kernel refused echoes, which count as lost: No buffer space available",
        "echoes and streams started 11 ms apart",
    )


def test_a_broken_trial_is_still_a_row() -> None:
    measured = echoed()
    measured.observed.failure = "peer0: its stream ended during echo.go\nlast words"
    rows = measured.record(measured.judgement(), PLACE, "local")
    assert (rows.trial["verdict"], rows.flows) == ("invalid", [])
    assert measured.headline() == "peer0: its stream ended during echo.go"
