"""Requests and their answers: what a scenario may ask, and what is made of what the ends tell."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.helpers.scenarios import CPUS, refusal_of, write_scenario
from tests.helpers.trials import make_durations
from vtax.agent_api import RequesterCollectAnswer, RequesterGoAnswer
from vtax.campaign.state import Trial
from vtax.campaign.workload import workload_of
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.keys.testbed import TestbedSettings
from vtax.scenario import load_scenario
from vtax.trial.observed import Observed
from vtax.trial.verdict import Verdict
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.requests.keys import Requests
from vtax.workloads.requests.measure.trial import RequestsTrial

SCENARIO = """
name: own/requests
title: Requests
question: How long?
workload: {kind: requests}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [raw]
  message_bytes: [1, 65536]
repetitions: 1
"""
SECOND_NS = 1_000_000_000
PLACE = {"block": 0, "attempt": 0, "search": None, "step": None}
written = partial(write_scenario, SCENARIO)


def test_placements_have_testbeds_of_their_own_and_lengths_share_one(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path))
    assert len({cell.plot for cell in scenario.cells()}) == 1
    placed = scenario.override(sets=["placement=guest-to-peer,inter-host"]).cells()
    assert len({cell.plot for cell in placed}) == 2
    assert [cell.of(Requests).message_bytes for cell in placed] == [1, 1, 65536, 65536]
    with pytest.raises(TypeError, match="is requests, not Forwarding"):
        assert placed[0].of(Forwarding)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[1, 65536]", "[0]", "factors.message_bytes: 0 is too small; allowed: 1"),
        ("[1, 65536]", "[65537]", "factors.message_bytes: 65537 is too large; allowed: 1"),
        (
            "kind: requests",
            "kind: requests, transport: udp",
            "factors.message_bytes: 65536 is more than a datagram holds; allowed with udp: 1 to 65507",
        ),
        (
            "kind: requests}",
            "kind: requests, transport: udp, response_bytes: 65508}",
            "workload.response_bytes: 65508 is more than a datagram holds; allowed with udp: 1 to 65507",
        ),
        (
            "kind: requests",
            "kind: requests, response_bytes: same",
            '"same" is not a number of bytes; allowed: a number alone, or equal',
        ),
        (
            "kind: requests",
            "kind: requests, placement: host-to-host",
            '"host-to-host" is not allowed; allowed: guest-to-peer, inter-host, intra-host',
        ),
        (
            "message_bytes: [1, 65536]",
            "workload.no_delay: [true]\n  transport: [udp]",
            "udp never waits; allowed: false",
        ),
        (
            "kind: requests",
            "kind: requests, requests_per_s: 0",
            "workload.requests_per_s: 0 is too small; allowed: more than 0",
        ),
        (
            "kind: requests}\ntestbed: {",
            "kind: requests, placement: inter-host}\ntestbed: {uplink: shared, ",
            "testbed.uplink: inter-host ends have a link of their own; allowed: dedicated",
        ),
        (
            "kind: requests}\ntestbed: {",
            "kind: requests, trace: stages}\ntestbed: {uplink: shared, guests: 5, ",
            "testbed.guests: more ways than are followed at once; allowed with trace: stages: 1 to 4",
        ),
        ("message_bytes: [1, 65536]", "streams: [1]", "factors.streams: requests workloads have no such key"),
        (
            "repetitions: 1",
            "repetitions: 1\nsearch: {}",
            "search: a search is for frames; leave it out, or the requests workload",
        ),
        (
            "repetitions: 1",
            "repetitions: 5\nprecision: {relative_width: 0.1}",
            "precision: precision is of what is carried, and requests workloads are timed; leave it out",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal_of(written(tmp_path, old, new))


def test_the_bare_host_is_no_two_guests(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path)).override(sets=["placement=intra-host"])
    with pytest.raises(
        InputError, match=r"--set placement=intra-host: workload.placement: raw is the host itself"
    ):
        workload_of(scenario, CPUS).check(scenario.cells())
    guests = scenario.override(platforms=["container", "qemu-virtio"])
    workload_of(guests, CPUS).check(guests.cells())


def test_only_a_bare_peer_needs_the_protocols_of_this_machine() -> None:
    asked = {"kind": "requests", "transport": "sctp"}
    assert Requests.model_validate(asked).far_protocols == ("sctp",)
    between = Requests.model_validate({**asked, "placement": "inter-host"})
    assert (between.protocols, between.far_protocols) == (("sctp",), ())


def test_the_papers_experiments_are_theirs() -> None:
    """Figures 2 to 4: one minute, ten repetitions, TCP and SCTP up to 64 KiB."""
    between, inside = (load_scenario(f"oljira2016/response-time{name}") for name in ("", "-inside"))
    assert {cell.of(Requests).placement for cell in between.cells()} == {"inter-host"}
    assert {cell.of(Requests).placement for cell in inside.cells()} == {"intra-host"}
    for scenario in (between, inside):
        works = [cell.of(Requests) for cell in scenario.cells()]
        assert scenario.repetitions == 10
        assert {work.duration_s for work in works} == {60.0}
        assert {work.transport for work in works} == {"tcp", "sctp"}
        assert {work.answer_bytes - work.message_bytes for work in works} == {0}
        assert max(work.message_bytes for work in works) == 65536
        workload_of(scenario, CPUS).check(scenario.cells())
    assert "raw" in between.platforms


def exchanged(failed: int = 0, guests: int = 1, **work: Any) -> RequestsTrial:
    """A whole trial of a second: each guest's requests answered in 10 to 1000 µs, of which the slowest failed."""
    workload = Requests.model_validate({"kind": "requests", "duration_s": 1.0, **work})
    cell = Cell(
        key="platform=raw",
        factors={"platform": "raw", "response_bytes": "equal"},
        workload=workload,
        testbed=TestbedSettings(
            link_mbps=1000.0,
            flow_control=True,
            guests=guests,
            uplink="shared" if guests > 1 else "dedicated",
        ),
        platform="raw",
        platform_overrides={},
        plot="platform=raw",
    )
    measured = RequestsTrial(Observed(1, cell, datetime.now(UTC)))
    times_ns = 10_000 * np.arange(1, 101 - failed)
    run = RequesterGoAnswer(start_ns=0, end_ns=SECOND_NS, aborted=False, cpu_latency_held=True, thread=None)
    tally = RequesterCollectAnswer(
        transactions=100 - failed,
        failed=failed,
        strays=0,
        last_problem="Connection timed out" if failed else None,
        retransmissions=3 if workload.transport == "tcp" else None,
        latency=make_durations(times_ns),
        corrected=make_durations(2 * times_ns) if workload.loop == "open" else None,
    )
    measured.runs, measured.tallies = [run] * guests, [tally] * guests
    measured.observed.wall_s = 2.5
    return measured


def test_rows_are_what_the_asking_end_told() -> None:
    measured = exchanged(message_bytes=4096)
    rows = measured.record(measured.judgement(), PLACE, "local")
    trial = rows.trial
    assert (trial["transport"], trial["placement"], trial["loop"]) == ("tcp", "guest-to-peer", "closed")
    assert (trial["message_bytes"], trial["response_bytes"], trial["requests_per_s"]) == (4096, None, None)
    assert (trial["verdict"], trial["guests"], trial["overhead_s"]) == ("valid", 1, 0.5)
    (flow,) = rows.flows
    assert (flow["transactions"], flow["failed"], flow["loss_ratio"]) == (100, 0, 0.0)
    assert (flow["latency_mean_ns"], flow["latency_max_ns"]) == (505_000, 1_000_000)
    assert flow["latency_deviation_ns"] == pytest.approx(290_115, rel=0.01)
    assert flow["latency_p50_ns"] == pytest.approx(500_000, rel=0.01)
    assert flow["retransmissions"] == 3
    (histogram,) = rows.latency
    assert (histogram["kind"], histogram["corrected"], histogram["lost"]) == ("round-trip", False, 0)
    assert Trial.of(rows).usable
    assert measured.headline() == "mean response time 0.505 ms (n = 100), 0 failed"


def test_guests_that_are_asked_at_once_have_a_flow_each() -> None:
    measured = exchanged(guests=3)
    rows = measured.record(measured.judgement(), PLACE, "local")
    assert rows.trial["guests"] == 3
    assert [(flow["guest"], flow["transactions"]) for flow in rows.flows] == [(0, 100), (1, 100), (2, 100)]
    assert [row["stream"] for row in rows.latency] == [0, 1, 2]
    assert measured.headline() == "mean response time 0.505 ms (n = 300), 0 failed"
    measured.runs[2] = replace(measured.runs[2], aborted=True)
    assert measured.judgement().verdict is Verdict.INVALID


def test_an_open_loop_counts_from_when_requests_were_due() -> None:
    measured = exchanged(loop="open", requests_per_s=100, placement="intra-host", response_bytes=1)
    rows = measured.record(measured.judgement(), PLACE, "local")
    assert (rows.trial["requests_per_s"], rows.trial["response_bytes"], rows.trial["guests"]) == (100, 1, 2)
    assert rows.flows[0]["latency_mean_ns"] == 1_010_000
    assert [row["corrected"] for row in rows.latency] == [False, True]


def test_a_failed_request_is_later_than_every_other() -> None:
    """Of 100 requests the 20 slowest failed: the median is where it was, the 90th percentile beyond all."""
    measured = exchanged(failed=20, transport="udp")
    judgement = measured.judgement()
    (flow,) = measured.record(judgement, PLACE, "local").flows
    assert (judgement.verdict, judgement.reasons) == (Verdict.VALID, ())
    assert (flow["transactions"], flow["failed"], flow["loss_ratio"]) == (80, 20, 0.2)
    assert flow["latency_p50_ns"] == pytest.approx(500_000, rel=0.01)
    assert (flow["latency_p90_ns"], flow["retransmissions"]) == (None, None)
    assert measured.headline() == "mean response time 0.405 ms (n = 80), 20 failed (Connection timed out)"


def test_nothing_answered_is_a_result() -> None:
    measured = exchanged(failed=1)
    measured.tallies = [replace(measured.tallies[0], transactions=0, latency=make_durations([]))]
    (flow,) = measured.record(measured.judgement(), PLACE, "local").flows
    assert (flow["loss_ratio"], flow["latency_mean_ns"], flow["latency_deviation_ns"]) == (1.0, None, None)
    assert measured.headline() == "no request was answered, 1 failed (Connection timed out)"


def test_cpu_time_taken_from_who_asks_counts_against_the_trial() -> None:
    measured = exchanged()
    measured.far_cpus = {0}
    idle = {"at_s": 0.0, "clock_offset_ns": 0, "others": {}, "throttled_s": {}}
    other = {"name": "rustc", "pid": 7, "cpu": 0, "cpu_s": 0.08}
    measured.observed.interference = (idle, {**idle, "at_s": 1.0, "others": {"7.1": other}})
    assert measured.judgement().reasons == (
        "CPU time taken from the client by other processes, most by rustc (process 7): 8.0%",
    )
    assert measured.judgement().verdict is Verdict.SUSPECT
    measured.far_cpus = ()
    assert measured.judgement().verdict is Verdict.VALID


def test_what_was_aborted_is_invalid() -> None:
    measured = exchanged()
    measured.runs[0] = replace(measured.runs[0], aborted=True)
    assert measured.judgement().reasons == ("the requests were aborted",)
    assert measured.judgement().verdict is Verdict.INVALID


def test_a_broken_trial_is_still_a_row() -> None:
    measured = exchanged()
    measured.observed.failure = "peer0: its stream ended during requester.go\nlast words"
    rows = measured.record(measured.judgement(), PLACE, "local")
    assert (rows.trial["verdict"], rows.flows, rows.latency) == ("invalid", [], [])
    assert measured.headline() == "peer0: its stream ended during requester.go"
