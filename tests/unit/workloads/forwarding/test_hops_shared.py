"""Behind one uplink, where interfaces count all streams together, every lost frame is still charged to a hop."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.hops import SENT, drops, interface
from tests.helpers.trials import (
    SECOND_NS,
    add_drop,
    change_guest,
    change_phase,
    change_times,
    judge,
    make_cell,
    make_measured,
    make_nic,
    otherwise,
)
from vtax.keys.testbed import TestbedSettings
from vtax.testbed.addressing import StreamAddresses
from vtax.trial.frames.measured import Measured
from vtax.trial.verdict import Verdict
from vtax.units import mbps
from vtax.workloads.forwarding.measure.counts import Hop
from vtax.workloads.forwarding.measure.hops import hops

GUESTS = 3
UPLINK = ("switch", "UUT ingress", "bridge port in")
OWN = ("tap queue", "guest ring", "guest forwarding", "guest egress")
DOWNLINK = ("bridge port out", "UUT egress", "downlink")
WAY = ("link", *UPLINK, *OWN, *DOWNLINK, "sink")
RAW_WAY = ("link", "switch", "UUT ingress", "UUT forwarding", "UUT egress", "downlink", "sink")
Lost = dict[str, tuple[int, ...]]
"""Frames of each stream that a hop lost."""


def shared(**testbed: Any) -> Measured:
    """A trial of so many guests behind one link that nothing happened to, its interfaces not yet counted."""
    settings = {"link_mbps": 1000.0, "flow_control": True, "uplink": "shared", "guests": GUESTS, **testbed}
    cell = replace(make_cell("container"), testbed=TestbedSettings(**settings))
    measured = make_measured(cell, offered_fps=SENT)
    ((guest, _),) = measured.guests.values()
    names = [f"guest{number}" for number in range(cell.testbed.guests)]
    measured.guests = dict.fromkeys(names, (guest, guest))
    return measured


def lossy(lost: Lost, **testbed: Any) -> Measured:
    """A trial through guests on taps that lost as many frames of each stream at each hop."""
    measured = shared(**testbed)
    streams = range(GUESTS)
    left = {WAY[0]: [SENT] * GUESTS}
    for hop, following in itertools.pairwise((*WAY, "end")):
        left[following] = [left[hop][stream] - lost_at(lost, hop)[stream] for stream in streams]
    after = {
        "switch/trunk-in": interface(
            "trunk-in",
            sent=sum(left["bridge port in"]),
            dropped_queue=sum(lost_at(lost, "switch")),
            dropped_out=sum(lost_at(lost, "UUT ingress")),
        ),
        "uut/in": interface("in", received=sum(left["bridge port in"])),
        "uut/out": interface(
            "out",
            sent=sum(left["sink"]),
            dropped_queue=sum(lost_at(lost, "UUT egress")),
            dropped_out=sum(lost_at(lost, "downlink")),
        ),
        "switch/trunk-out": interface("trunk-out", received=sum(left["sink"])),
    }
    for stream, (name, (_, guest)) in zip(streams, list(measured.guests.items()), strict=True):
        here = {hop: counts[stream] for hop, counts in left.items()}
        gone = {hop: lost_at(lost, hop)[stream] for hop in WAY}
        after |= {
            f"source/src{stream}": interface(f"src{stream}", sent=here["switch"], dropped_queue=gone["link"]),
            f"switch/to-src{stream}": interface(f"to-src{stream}", received=here["switch"]),
            f"uut/guest{stream}p0": interface(
                f"guest{stream}p0", sent=here["guest ring"], dropped_out=gone["tap queue"]
            ),
            f"uut/guest{stream}p1": interface(f"guest{stream}p1", received=here["bridge port out"]),
            f"switch/to-snk{stream}": interface(
                f"to-snk{stream}", sent=here["end"], dropped_out=gone["sink"]
            ),
            f"sink/snk{stream}": interface(f"snk{stream}", received=here["end"]),
        }
        addresses = StreamAddresses(stream)
        into, out_of = ("eth0", addresses.uut_in_mac), ("eth1", addresses.uut_out_mac)
        counted = [
            make_nic(*into, received=here["guest forwarding"], dropped_in=gone["guest ring"]),
            make_nic(*out_of, sent=here["bridge port out"], dropped_queue=gone["guest egress"]),
        ]
        measured.guests[name] = (
            otherwise(guest, interfaces=[make_nic(*into), make_nic(*out_of)]),
            otherwise(guest, interfaces=counted),
        )
    measured.interfaces = ({name: interface(each["name"]) for name, each in after.items()}, after)
    return measured


def lost_at(lost: Lost, hop: str) -> tuple[int, ...]:
    return lost.get(hop, (0,) * GUESTS)


def by_stream(found: list[Hop]) -> list[list[Hop]]:
    return [[hop for hop in found if hop.stream == stream] for stream in range(GUESTS)]


LOSSES = st.tuples(*[st.integers(0, SENT // len(WAY))] * GUESTS)


@given(
    st.fixed_dictionaries(dict.fromkeys(("link", *OWN, "sink"), LOSSES)),
    st.sampled_from(UPLINK),
    st.sampled_from(DOWNLINK),
    LOSSES,
    LOSSES,
)
def test_where_one_shared_hop_loses_each_stream_is_charged_what_it_lost(
    own: Lost, up: str, down: str, lost_up: tuple[int, ...], lost_down: tuple[int, ...]
) -> None:
    lost = {**own, up: lost_up, down: lost_down}
    for stream, found in enumerate(by_stream(hops(lossy(lost)))):
        assert tuple(hop.name for hop in found) == WAY
        assert drops(found) == {hop: counts[stream] for hop, counts in lost.items() if counts[stream]}


@given(st.fixed_dictionaries(dict.fromkeys(WAY, LOSSES)))
def test_the_losses_of_each_stream_add_up_and_those_of_each_hop(lost: Lost) -> None:
    found = hops(lossy(lost))
    for stream, way in enumerate(by_stream(found)):
        assert sum(hop.dropped for hop in way) == sum(counts[stream] for counts in lost.values())
        assert all(here.forwarded == there.received for here, there in itertools.pairwise(way))
    for name in WAY:
        charged = sum(hop.dropped for hop in found if hop.name == name)
        assert charged == pytest.approx(sum(lost[name]), abs=GUESTS)


@pytest.mark.parametrize(
    ("hop", "reason"),
    [
        ("link", "queue full (dropped_queue of src1)"),
        ("switch", "queue full (dropped_queue of trunk-in)"),
        ("UUT ingress", "ring full (dropped_out of trunk-in)"),
        ("tap queue", "no room (dropped_out of guest1p0)"),
        ("guest ring", "no room in the ring (dropped_in of guest1's eth0)"),
        ("guest egress", "queue full (dropped_queue of guest1's eth1)"),
        ("UUT egress", "queue full (dropped_queue of out)"),
        ("downlink", "ring full (dropped_out of out)"),
        ("sink", "ring full (dropped_out of to-snk1)"),
    ],
)
def test_the_counter_that_saw_it_is_the_reason(hop: str, reason: str) -> None:
    (found,) = (each for each in hops(lossy({hop: (0, 7, 0)})) if each.dropped)
    assert (found.stream, found.name, found.reason) == (1, hop, reason)


def test_the_kernels_reason_names_the_guest() -> None:
    measured = lossy({"guest forwarding": (0, 70, 0)})
    add_drop(measured, ("guest1/eth0", True), "IP_INNOROUTES", 70)
    (found,) = (each for each in hops(measured) if each.dropped)
    assert found.reason == "IP_INNOROUTES (kfree_skb at guest1's eth0)"


def test_where_a_guest_went_with_its_ports_its_losses_are_its_own() -> None:
    measured = lossy({"tap queue": (0, SENT, 0)})
    assert measured.interfaces is not None
    change_guest(measured, "guest1", condition="ended")
    for port in ("uut/guest1p0", "uut/guest1p1"):
        del measured.interfaces[1][port]
    assert [drops(found) for found in by_stream(hops(measured))] == [{}, {"guest": SENT}, {}]


def test_raw_has_no_guest_on_its_way() -> None:
    measured = lossy({"switch": (SENT // 2,) * GUESTS})
    assert measured.interfaces is not None
    for reading in measured.interfaces:
        for name in [name for name in reading if name.startswith("uut/guest")]:
            del reading[name]
    for found in by_stream(hops(measured)):
        assert tuple(hop.name for hop in found) == RAW_WAY
        assert drops(found) == {"switch": SENT // 2}


HALF_LOST = {"switch": (SENT // 2,) * GUESTS}
FULL_MBPS = mbps(GUESTS * SENT / 2, 1500)
"""The rate of an uplink that takes half of what is sent."""


def test_an_uplink_that_is_full_is_held_against_nobody() -> None:
    measured = lossy(HALF_LOST, link_mbps=FULL_MBPS)
    judgement = judge(measured)
    assert (judgement.verdict, judgement.reasons, judgement.uut_context) == (Verdict.VALID, (), "own")
    assert judgement.marks == ("uplink-limited",)


@pytest.mark.parametrize("behind", ["UUT ingress", "tap queue"])
def test_frames_that_are_lost_behind_a_full_uplink_are_the_platforms(behind: str) -> None:
    measured = lossy({**HALF_LOST, behind: (SENT // 20,) * GUESTS}, link_mbps=FULL_MBPS)
    assert judge(measured).marks == ()


def test_a_platform_that_holds_the_switch_back_shows_its_own_limit() -> None:
    measured = lossy(HALF_LOST, link_mbps=2 * FULL_MBPS)
    assert measured.interfaces is not None
    measured.interfaces[1]["switch/trunk-in"]["held_back"] = SENT
    judgement = judge(measured)
    assert (judgement.reasons, judgement.marks) == ((), ())


def test_a_switch_that_loses_frames_for_no_cause_on_the_way_is_the_instruments() -> None:
    judgement = judge(lossy(HALF_LOST, link_mbps=2 * FULL_MBPS))
    assert (judgement.verdict, judgement.marks) == (Verdict.SUSPECT, ())
    assert judgement.reasons[0].startswith("the switch lost frames below the uplink's rate")


@pytest.mark.parametrize(
    ("waited", "ran", "mark"),
    [(0.0, 1.0, "generator-limited"), (0.5, 0.5, "generator-limited"), (0.0, 0.5, "limit-unknown")],
)
def test_a_source_behind_a_switch_is_held_back_by_nobody(waited: float, ran: float, mark: str) -> None:
    measured = lossy({})
    flood = make_cell(intended_mbps=None)
    measured.cell, measured.load = replace(measured.cell, workload=flood.workload), flood.frame_load
    for stream in range(GUESTS):
        change_phase(measured, stream, waited_ns=round(waited * SECOND_NS))
    change_times(measured, run_ns=round(ran * SECOND_NS))
    assert judge(measured).marks == (mark,)


@pytest.mark.parametrize(
    ("interface", "received", "where"),
    [
        ("switch/to-src1", SENT + 200, "on stream 1"),
        ("uut/in", GUESTS * SENT + 600, "between the switch and the UUT"),
    ],
)
def test_frames_that_the_source_did_not_send(interface: str, received: int, where: str) -> None:
    measured = lossy({})
    assert measured.interfaces is not None
    measured.interfaces[1][interface]["received"] = received
    reasons = judge(measured).reasons
    assert any(f"frames that the source did not send entered {where}" in reason for reason in reasons)
