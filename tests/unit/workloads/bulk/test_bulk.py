"""Streams between end hosts: what a scenario may ask, and what is made of what the endpoints tell."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.helpers.scenarios import CPUS, refusal_of, write_scenario
from tests.helpers.trials import make_flows
from vtax.agent_api import SocketOptions
from vtax.campaign.state import Trial
from vtax.campaign.workload import workload_of
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.keys.testbed import TestbedSettings
from vtax.scenario import Scenario, load_scenario
from vtax.trial.observed import Observed
from vtax.trial.verdict import Verdict
from vtax.workloads.bulk.keys import Bulk
from vtax.workloads.bulk.measure.trial import BulkTrial
from vtax.workloads.forwarding.keys import Forwarding

SCENARIO = """
name: own/bulk
title: Streams
question: How fast?
workload: {kind: bulk}
testbed: {link_mbps: 1000, flow_control: true, uplink: shared}
factors:
  platform: [raw]
  guests: [1, 2]
repetitions: 1
"""
SECOND_NS = 1_000_000_000
written = partial(write_scenario, SCENARIO)


def test_guests_are_cells_with_a_testbed_each(tmp_path: Path) -> None:
    one, two = load_scenario(written(tmp_path)).cells()
    assert (one.testbed.guests, two.testbed.guests) == (1, 2)
    assert one.plot != two.plot
    assert one.of(Bulk).transport == "tcp"
    with pytest.raises(TypeError, match="is bulk, not Forwarding"):
        assert one.of(Forwarding)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: bulk", "kind: bluk", 'workload.kind: "bluk" is not allowed; did you mean "bulk"?'),
        (
            "kind: bulk",
            "duration_s: 1",
            'own.yaml:4: workload: key "kind" is missing; allowed: forwarding, bulk',
        ),
        ("kind: bulk", "kind: bulk, frame_bytes: 64", 'workload.frame_bytes: unknown key "frame_bytes"'),
        ("kind: bulk", "kind: bulk, flows: 65", "workload.flows: 65 is too large; allowed: 1 to 64"),
        ("kind: bulk", "kind: bulk, transport: dccp", '"dccp" is not allowed; allowed: tcp, udp, sctp'),
        (
            "kind: bulk",
            "kind: bulk, transport: udp, message_bytes: 1473",
            "workload.message_bytes: 1473 does not fit a packet of mtu 1500; allowed with udp: 24 to 1472",
        ),
        (
            "kind: bulk",
            "kind: bulk, transport: udp, congestion: cubic",
            "workload.congestion: udp leaves no such choice; allowed: default",
        ),
        (
            "kind: bulk",
            "kind: bulk, placement: inter-host",
            "testbed.uplink: inter-host ends have a link of their own; allowed: dedicated",
        ),
        (
            "kind: bulk",
            "kind: bulk, placement: host-to-host",
            '"host-to-host" is not allowed; allowed: guest',
        ),
        ("kind: bulk", "kind: bulk, buffer_bytes: 4095", "workload.buffer_bytes: 4095 is too small"),
        ("guests: [1, 2]", "frame_bytes: [64]", "factors.frame_bytes: bulk workloads have no such key"),
        ("guests: [1, 2]", "guests: [9]", "factors.guests: 9 is too large"),
        (
            "repetitions: 1",
            "repetitions: 1\nsearch: {}",
            "search: a search is for frames; leave it out, or the bulk workload",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal_of(written(tmp_path, old, new))


def test_one_guest_of_dedicated_links_is_no_end_host(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SCENARIO.replace(", uplink: shared", "").replace("[1, 2]", "[1]"))
    with pytest.raises(InputError, match=r"testbed.uplink: the guests of bulk workloads are behind one link"):
        load_scenario(str(path))


def between(directory: Path, work: str = "") -> Scenario:
    """Two ends with a link of their own."""
    path = directory / "own.yaml"
    placed = SCENARIO.replace("kind: bulk", f"kind: bulk, placement: inter-host{work}")
    path.write_text(placed.replace(", uplink: shared", "").replace("  guests: [1, 2]\n", ""))
    return load_scenario(str(path))


def test_two_ends_have_a_link_of_their_own_and_all_lengths_and_buffers_one_testbed(tmp_path: Path) -> None:
    sets = ["placement=inter-host,intra-host", "message_bytes=64,65536", "buffer_bytes=default,4194304"]
    cells = between(tmp_path).override(sets=sets).cells()
    assert len({cell.plot for cell in cells}) == 2
    assert [cell.of(Bulk).buffer_bytes for cell in cells] == [None, 4194304] * 4
    assert cells[0].factors["buffer_bytes"] == "default"


def test_two_ends_are_no_routers_and_the_bare_host_is_no_two_guests(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="inter-host guests are end hosts; allowed: sending, receiving"):
        between(tmp_path, ", direction: forwarding")
    inside = between(tmp_path).override(sets=["placement=intra-host"])
    with pytest.raises(InputError, match=r"workload.placement: raw is the host itself"):
        workload_of(inside, CPUS).check(inside.cells())
    guests = inside.override(platforms=["container"])
    workload_of(guests, CPUS).check(guests.cells())


def test_only_bare_peers_need_the_protocols_of_this_machine() -> None:
    asked = {"kind": "bulk", "transport": "sctp"}
    assert Bulk.model_validate(asked).far_protocols == ("sctp",)
    placed = Bulk.model_validate({**asked, "placement": "inter-host"})
    assert (placed.protocols, placed.far_protocols) == (("sctp",), ())


def test_the_papers_figure_is_its_scenario() -> None:
    """Figure 5: one minute, ten repetitions, TCP and SCTP up to 64 KiB, the kernels' buffers and larger ones."""
    scenario = load_scenario("oljira2016/throughput")
    works = [cell.of(Bulk) for cell in scenario.cells()]
    assert (scenario.repetitions, {work.duration_s for work in works}) == (10, {60.0})
    assert {work.placement for work in works} == {"inter-host"}
    assert {work.transport for work in works} == {"tcp", "sctp"}
    assert {work.buffer_bytes for work in works} == {None, 8 * 65536}
    assert {32768, 65536} <= {work.message_bytes for work in works}
    assert "raw" in scenario.platforms
    workload_of(scenario, CPUS).check(scenario.cells())


def test_pieces_are_what_costs_the_sender_little() -> None:
    work = {"kind": "bulk"}
    sizes = {
        name: Bulk.model_validate({**work, "transport": name}).streams.piece_bytes(1500)
        for name in ("tcp", "udp")
    }
    assert sizes == {"tcp": 65536, "udp": 1472}
    assert Bulk.model_validate({**work, "message_bytes": 100}).streams.piece_bytes(1500) == 100


def test_options_leave_to_the_kernels_what_was_not_asked_for() -> None:
    assert Bulk.model_validate({"kind": "bulk"}).streams.options == SocketOptions(no_delay=False)
    assert Bulk.model_validate({"kind": "bulk", "transport": "udp"}).streams.options == SocketOptions()
    asked = {"kind": "bulk", "congestion": "reno", "buffer_bytes": 65536, "no_delay": True}
    assert Bulk.model_validate(asked).streams.options == SocketOptions(
        congestion="reno", no_delay=True, send_buffer_bytes=65536, receive_buffer_bytes=65536
    )


@pytest.mark.parametrize(
    ("transport", "placement", "idle_s", "marks"),
    [
        ("tcp", "guest-to-peer", 0.01, ("far-end-busy",)),
        ("tcp", "guest-to-peer", 0.05, ()),
        ("udp", "guest-to-peer", 0.01, ()),
        ("tcp", "inter-host", 0.01, ()),
    ],
)
def test_streams_that_wait_for_busy_far_ends_are_marked(
    transport: str, placement: str, idle_s: float, marks: tuple[str, ...]
) -> None:
    measured = streamed(transport=transport, placement=placement)
    before = {"at_s": 10.0, "idle_s": {0: 3.0}, "steal_s": {0: 0.0}}
    after = {"at_s": 11.0, "idle_s": {0: 3.0 + idle_s}, "steal_s": {0: 0.0}}
    measured.observed.far_end_cpu = (before, after)
    assert measured.judgement().marks == marks


def streamed(guests: int = 2, **work: Any) -> BulkTrial:
    """A whole trial in which every guest sends 100 Mbit/s over one connection for a second."""
    workload = Bulk.model_validate({"kind": "bulk", "duration_s": 1.0, **work})
    cell = Cell(
        key=f"platform=raw guests={guests}",
        factors={"platform": "raw", "guests": guests},
        workload=workload,
        testbed=TestbedSettings(link_mbps=1000.0, flow_control=True, uplink="shared", guests=guests),
        platform="raw",
        platform_overrides={},
        plot="platform=raw",
    )
    measured = BulkTrial(Observed(1, cell, datetime.now(UTC)))
    measured.flows = [make_flows(guest * 1_000_000) for guest in range(guests)]
    measured.observed.wall_s = 2.5
    return measured


def test_rows_are_what_the_endpoints_told() -> None:
    measured = streamed()
    rows = measured.record(measured.judgement(), {"block": 0}, "local")
    assert (rows.trial["guests"], rows.trial["transport"], rows.trial["verdict"]) == (2, "tcp", "valid")
    assert rows.trial["start_spread_ms"] == 1.0
    assert [(row["guest"], row["stream"], row["goodput_mbps"]) for row in rows.flows] == [
        (0, 0, 100.0),
        (1, 0, 100.0),
    ]
    assert rows.flows[0]["offered_goodput_mbps"] == pytest.approx(100.0)
    assert (rows.flows[0]["retransmissions"], rows.flows[0]["rtt_ns"]) == (3, 1_500_000)
    held = rows.flows[0]["send_buffer_bytes"], rows.flows[0]["receive_buffer_bytes"]
    assert (rows.trial["placement"], rows.trial["buffer_bytes"], held) == (
        "guest-to-peer",
        None,
        (87_040, 131_072),
    )
    assert len(rows.series) == 20
    assert {row["goodput_mbps"] for row in rows.series} == {100.0}
    place = {"attempt": 0, "search": None, "step": None}
    assert (
        Trial.of(measured.record(measured.judgement(), {"block": 0, **place}, "local")).received_mbps == 200
    )
    assert measured.headline() == "goodput 200.0 Mbit/s, 100.0 to 100.0 a guest"


def test_the_spread_of_receiving_guests_is_their_peers() -> None:
    measured = streamed(direction="receiving")
    for flows in measured.flows:
        flows.came = replace(flows.came, first_arrival_ns=10**12)  # by a clock of the guest's own
    assert measured.start_spread_ms == 1.0


def test_an_undisturbed_trial_is_valid() -> None:
    assert streamed().judgement().verdict is Verdict.VALID


def test_a_flow_that_broke_off_is_named_with_its_guest() -> None:
    measured = streamed()
    (sent,) = measured.flows[1].sent
    measured.flows[1].sent = [replace(sent, problem="Connection reset by peer")]
    judgement = measured.judgement()
    assert judgement.verdict is Verdict.INVALID
    assert judgement.reasons == ("flow 0 of guest 1 broke off where it is sent: Connection reset by peer",)


def test_late_starters_are_held_against_the_host_and_not_against_emulation() -> None:
    measured = streamed()
    late = measured.flows[1]
    late.came = replace(late.came, first_arrival_ns=11_000_000)
    assert measured.judgement().verdict is Verdict.SUSPECT
    measured.observed.emulated = True
    assert measured.judgement().verdict is Verdict.VALID


def test_a_peer_without_room_is_the_instruments_fault_and_a_guest_without_is_a_result() -> None:
    for direction, verdict in (("sending", Verdict.SUSPECT), ("receiving", Verdict.VALID)):
        measured = streamed(direction=direction, transport="udp")
        flows = measured.flows[0]
        flows.came = replace(flows.came, buffer_drops=5)
        assert measured.judgement().verdict is verdict


def test_a_far_guest_without_room_is_a_result() -> None:
    measured = streamed(1, direction="sending", transport="udp", placement="inter-host")
    (flows,) = measured.flows
    flows.came = replace(flows.came, buffer_drops=5)
    assert measured.judgement().verdict is Verdict.VALID


def test_a_socket_with_less_than_it_asked_for_is_never_silent() -> None:
    measured = streamed(1, buffer_bytes=100_000)
    assert measured.judgement().reasons == (
        "the send buffer of flow 0 of guest 0 has 87040 of the 100000 bytes requested",
    )
    assert measured.judgement().verdict is Verdict.INVALID
    (flows,) = measured.flows
    flows.sent = [replace(sent, send_buffer_bytes=200_000) for sent in flows.sent]
    assert measured.judgement().verdict is Verdict.VALID


def test_cpu_time_taken_from_the_far_guest_counts_against_the_trial() -> None:
    measured = streamed(1, placement="inter-host")
    idle = {"at_s": 0.0, "clock_offset_ns": 0, "others": {}, "throttled_s": {}}
    other = {"name": "rustc", "pid": 7, "cpu": 0, "cpu_s": 0.08}
    measured.observed.interference = (idle, {**idle, "at_s": 1.0, "others": {"7.1": other}})
    assert measured.judgement().verdict is Verdict.VALID
    measured.far_cpus = {0}
    assert measured.judgement().reasons == (
        "CPU time taken from the far guest by other processes, most by rustc (process 7): 8.0%",
    )


def test_two_guests_of_one_host_are_counted() -> None:
    measured = streamed(1, placement="intra-host", message_bytes=64, buffer_bytes=4096)
    trial = measured.record(measured.judgement(), {}, "local").trial
    assert (trial["guests"], trial["placement"], trial["message_bytes"], trial["buffer_bytes"]) == (
        2,
        "intra-host",
        64,
        4096,
    )


def test_what_did_not_end_is_said() -> None:
    measured = streamed()
    flows = measured.flows[0]
    flows.came = replace(flows.came, ended="limit", refused=replace(flows.came.refused, trial=4))
    reasons = measured.judgement().reasons
    assert "data of guest 0 still came when the drain was over" in reasons
    assert "the receiver of guest 0 refused 4 as trial" in reasons
