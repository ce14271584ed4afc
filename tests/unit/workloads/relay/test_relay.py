"""Relays: what a scenario may ask, who of a ring is where, and what is made of a run."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs, to_builtins

from tests.helpers.scenarios import CPUS, refusal_of, write_scenario
from vtax.agent_api import RelayCollectAnswer, RelayLoadFields, RelayParams, RelayPath
from vtax.campaign.mode import Fixed
from vtax.campaign.state import CampaignState, Trial
from vtax.campaign.workload import workload_of
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.keys.testbed import TestbedSettings
from vtax.scenario import load_scenario
from vtax.trial.endpoints.path import End
from vtax.trial.observed import Observed
from vtax.trial.verdict import Verdict
from vtax.workloads.relay.keys import Relay
from vtax.workloads.relay.measure.ring import ring
from vtax.workloads.relay.measure.trial import RelayTrial

SCENARIO = """
name: own/relay
title: Relays
question: How long?
workload: {kind: relay, runs: 3, iterations: 100}
factors:
  platform: [raw]
  hops: [1, 3]
repetitions: 2
"""
PLACE = {"block": 0, "attempt": 0, "search": None, "step": None, "run": 2}
written = partial(write_scenario, SCENARIO)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[1, 3]", "[9]", "factors.hops: 9 is too large; allowed: 1 to 8"),
        ("iterations: 100", "iterations: 0", "workload.iterations: 0 is too small; allowed: 1 to 1000000"),
        (
            "iterations: 100",
            "load: puts",
            '"puts" is not allowed; did you mean "output"? allowed: network, nothing, output, lines',
        ),
        ("iterations: 100", "transport: sctp", '"sctp" is not allowed; allowed: tcp, udp'),
        ("iterations: 100", "message_bytes: 3", "3 is too small; allowed: 4 to 1400"),
        ("iterations: 100", "duration_s: 1", "duration_s"),
        ("iterations: 100", "load: output", "3 relays are a network; allowed with load output: 1"),
        (
            "repetitions: 2",
            "repetitions: 2\ntestbed: {link_mbps: 1000}",
            "there is no link; allowed: unlimited",
        ),
        ("repetitions: 2", "repetitions: 2\ntestbed: {cap_mbps: 100}", "have no cap; allowed: none"),
        ("repetitions: 2", "repetitions: 2\ntestbed: {uplink: shared}", "behind one bridge of their host"),
        (
            "iterations: 100}",
            "message_bytes: 1300}\ntestbed: {mtu: 1280}",
            "1300 may not stay one segment with mtu 1280; allowed: 4 to 1180",
        ),
        (
            "repetitions: 2",
            "repetitions: 5\nprecision: {relative_width: 0.1}",
            "precision is of what is carried, and relay workloads are timed",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal_of(written(tmp_path, old, new))


def test_the_bare_host_has_no_ring_of_guests(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path)).override(sets=["placement=guest-each"])
    with pytest.raises(
        InputError, match="raw is the host itself and has one kernel; allowed with it: one-guest"
    ):
        workload_of(scenario, CPUS).check(scenario.cells())
    for fitting in (scenario.override(platforms=["container"]), scenario.override(sets=["hops=1"])):
        workload_of(fitting, CPUS).check(fitting.cells())


def test_runs_follow_one_another_and_each_is_measured_once(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path))
    assert scenario.trials == 2 * 2 * 3
    cell, other = scenario.cells()
    mode, state, made = Fixed(), CampaignState(), []
    while (wanted := mode.next(0, cell, state)) is not None:
        made.append(wanted.run)
        row = {"trial_id": len(made), "block": 0, "cell": wanted.key, "run": wanted.run, "search": None}
        # The second run is invalid once, and made again at once.
        verdict = "invalid" if len(made) == 2 else "valid"
        nothing = dict.fromkeys(Trial.__dataclass_fields__)
        state.add(Trial.read({**nothing, **row, "verdict": verdict}))
    assert made == [0, 1, 1, 2]
    assert (mode.measured(cell, state), mode.measured(other, state)) == (True, False)
    assert mode.next(1, cell, state) == cell.trials[0]


def ends(count: int) -> list[End]:
    host: Any = None
    return [
        End(host, f"guest{number}", "eth0", f"198.18.0.{number + 1}", 0, False) for number in range(count)
    ]


def test_relays_of_one_guest_are_heard_within_it_alone() -> None:
    work = Relay(kind="relay", hops=3, pinned=True, connection="persistent")
    (relays,) = ring(ends(1), work, 2000)
    assert [relay.mode for relay in relays] == ["master", "forwarder", "forwarder"]
    assert [relay.cpu for relay in relays] == [0, 1, 2]
    ways = [way_of(relay) for relay in relays]
    assert {(way.interface, way.address, way.next_address) for way in ways} == {
        ("lo", "127.0.0.1", "127.0.0.1")
    }
    assert [(way.port, way.next_port) for way in ways] == [(5001, 5002), (5002, 5003), (5003, 5001)]
    assert {(way.protocol, way.connection, way.timeout_ms) for way in ways} == {("tcp", "persistent", 2000)}


def test_relays_of_a_guest_each_go_from_nic_to_nic() -> None:
    work = Relay(kind="relay", hops=3, placement="guest-each", transport="udp")
    each = ring(ends(3), work, 2000)
    assert [len(relays) for relays in each] == [1, 1, 1]
    ways = [way_of(relays[0]) for relays in each]
    assert [(way.interface, way.address, way.next_address) for way in ways] == [
        ("eth0", "198.18.0.1", "198.18.0.2"),
        ("eth0", "198.18.0.2", "198.18.0.3"),
        ("eth0", "198.18.0.3", "198.18.0.1"),
    ]
    assert each[0][0].cpu is None


@pytest.mark.parametrize(
    ("load", "asked"), [("nothing", "nothing"), ("output", {"output": "full"}), ("lines", {"output": "line"})]
)
def test_null_tests_have_a_master_only(load: Any, asked: Any) -> None:
    (relays,) = ring(ends(1), Relay(kind="relay", load=load), 2000)
    assert [(relay.mode, to_builtins(relay.load)) for relay in relays] == [("master", asked)]


COLLECTED = RelayCollectAnswer(
    completed=100, failed=0, ended=[], last_problem="nothing came in time", refused=0, last_refusal=None
)


def way_of(relay: RelayParams) -> RelayPath:
    assert isinstance(relay.load, RelayLoadFields) and relay.load.network is not None
    return relay.load.network


def ran(undone: dict[int, str] | None = None, **work: Any) -> RelayTrial:
    """A whole run of a hundred rounds, of 1 to 100 µs."""
    workload = Relay.model_validate({"kind": "relay", "iterations": 100, **work})
    cell = Cell(
        key="platform=raw",
        factors={"platform": "raw"},
        workload=workload,
        testbed=TestbedSettings(),
        platform="raw",
        platform_overrides={},
        plot="platform=raw",
        run=2,
    )
    measured = RelayTrial(Observed(1, cell, datetime.now(UTC)))
    measured.times_ns = 1_000, 10_001_000
    measured.ns = [1000 * number for number in range(1, 101)]
    measured.undone = undone or {}
    measured.relays = [COLLECTED]
    measured.observed.wall_s = 0.5
    return measured


def test_every_round_is_a_row() -> None:
    measured = ran({99: "timeout", 49: "garbage"}, hops=3)
    judgement = measured.judgement()
    rows = measured.record(judgement, PLACE, "local")
    assert (judgement.verdict, judgement.reasons) == (Verdict.VALID, ())
    trial = rows.trial
    assert (trial["run"], trial["hops"], trial["load"], trial["connection"]) == (2, 3, "network", "fresh")
    assert (trial["duration_s"], trial["warmup_s"], trial["overhead_s"]) == (0.01, 0.0, 0.49)
    (flow,) = rows.flows
    assert (flow["transactions"], flow["failed"], flow["loss_ratio"]) == (98, 2, 0.02)
    assert (flow["latency_min_ns"], flow["latency_max_ns"]) == (1000, 99_000)
    assert flow["latency_mean_ns"] == pytest.approx((5_050_000 - 150_000) / 98)
    assert (flow["latency_p90_ns"], flow["latency_p99_ns"]) == (91_000, None)
    assert len(rows.samples) == 100
    assert rows.samples[49] == {"run": 2, "iteration": 49, "ns": 50_000, "status": "garbage"}
    assert rows.samples[50]["status"] == "done"
    assert Trial.of(rows).place == "platform=raw run=2"
    assert measured.headline() == "a round takes 50.00 µs on average (n = 98), at most 99 µs, 2 failed"


def test_null_tests_have_no_network_in_their_rows() -> None:
    run = ran(load="lines")
    trial = run.record(run.judgement(), PLACE, "local").trial
    assert (trial["load"], trial["transport"], trial["connection"]) == ("lines", None, None)


def test_a_relay_that_died_is_told_of_with_its_last_words() -> None:
    measured = ran(hops=2)
    ended = ["a relay has ended (signal: 9 (SIGKILL)): thread 'main' panicked"]
    measured.relays = [structs.replace(COLLECTED, ended=ended)]
    judgement = measured.judgement()
    assert judgement.verdict is Verdict.INVALID
    assert judgement.reasons == (
        "of guest 0: a relay has ended (signal: 9 (SIGKILL)): thread 'main' panicked",
    )


def test_a_run_that_was_given_up_is_suspect() -> None:
    measured = ran(dict.fromkeys(range(90, 100), "timeout"), iterations=10_000)
    measured.given_up = True
    judgement = measured.judgement()
    assert judgement.verdict is Verdict.SUSPECT
    assert judgement.reasons == (
        "the run was given up after 100 of 10000 rounds, since ten in a row failed (nothing came in time)",
    )


def test_no_round_at_all_is_a_result() -> None:
    measured = ran(dict.fromkeys(range(100), "refused"))
    (flow,) = measured.record(measured.judgement(), PLACE, "local").flows
    assert (flow["loss_ratio"], flow["latency_mean_ns"], flow["latency_p50_ns"]) == (1.0, None, None)
    assert measured.headline() == "no message came back, 100 failed"


def test_output_that_is_lost_makes_a_run_invalid() -> None:
    measured = ran(load="output", message_bytes=10)
    measured.output_bytes = 1000
    assert measured.judgement().verdict is Verdict.VALID
    measured.output_bytes = 999
    assert measured.judgement().reasons == ("999 of 1000 bytes came through the master's standard output",)


def test_a_broken_run_is_still_a_row() -> None:
    measured = RelayTrial(
        Observed(1, ran().observed.cell, datetime.now(UTC), failure="guest: a relay has ended (signal: 9)")
    )
    rows = measured.record(measured.judgement(), PLACE, "local")
    assert (rows.trial["verdict"], rows.flows, rows.samples) == ("invalid", [], [])
    assert measured.headline() == "guest: a relay has ended (signal: 9)"


def test_the_paper_s_experiments_are_its() -> None:
    """Section 2.4: 50 runs of 10,000 rounds, five in each block; figure 1: in one guest, and across guests."""
    within, across, null = (
        load_scenario(f"matthews2009/{name}") for name in ("relay", "relay-across", "null")
    )
    for scenario in (within, across, null):
        assert {(cell.of(Relay).runs, cell.of(Relay).iterations) for cell in scenario.cells()} == {
            (5, 10_000)
        }
        assert scenario.repetitions == 10
        workload_of(scenario, CPUS).check(scenario.cells())
    assert {cell.of(Relay).hops for cell in within.cells()} == set(range(1, 9))
    assert {cell.of(Relay).is_in_one_guest for cell in across.cells()} == {False}
    assert [cell.of(Relay).load for cell in null.cells()[:4]] == ["nothing", "output", "lines", "network"]
