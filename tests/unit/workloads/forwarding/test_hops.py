"""Every lost frame is charged to the hop that lost it, whatever the platform's way."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.helpers.hops import SENT, drops, interface
from tests.helpers.trials import (
    add_drop,
    change_guest,
    change_phase,
    make_cell,
    make_measured,
    make_nic,
    otherwise,
)
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import GUEST
from vtax.trial.frames.measured import Measured
from vtax.workloads.forwarding.measure.hops import hops

TAP_WAY = (
    *("link", "UUT ingress", "bridge port in", "tap queue", "guest ring", "guest forwarding", "guest egress"),
    *("bridge port out", "UUT egress", "sink"),
)


def lossy(lost: dict[str, int]) -> Measured:
    """A trial through a guest on taps that lost as many frames at each hop."""
    left = [SENT]
    for hop in TAP_WAY:
        left.append(left[-1] - lost.get(hop, 0))
    at = dict(zip(TAP_WAY, left, strict=False))
    measured = make_measured(make_cell(), offered_fps=SENT)
    after = {
        "source/src0": interface(
            "src0",
            sent=at["bridge port in"],
            dropped_queue=lost.get("link", 0),
            dropped_out=lost.get("UUT ingress", 0),
        ),
        "uut/in0": interface("in0", received=at["bridge port in"]),
        "uut/guestp0": interface("guestp0", sent=at["guest ring"], dropped_out=lost.get("tap queue", 0)),
        "uut/guestp1": interface("guestp1", received=at["bridge port out"]),
        "uut/out0": interface(
            "out0",
            sent=left[-1],
            dropped_queue=lost.get("UUT egress", 0),
            dropped_out=lost.get("sink", 0),
        ),
        "sink/snk0": interface("snk0", received=left[-1]),
    }
    measured.interfaces = ({name: interface(each["name"]) for name, each in after.items()}, after)
    addresses = StreamAddresses(0)
    macs = {"eth0": addresses.uut_in_mac, "eth1": addresses.uut_out_mac}
    counted: dict[str, dict[str, int]] = {
        "eth0": {"received": at["guest forwarding"], "dropped_in": lost.get("guest ring", 0)},
        "eth1": {
            "sent": at["guest egress"] - lost.get("guest egress", 0),
            "dropped_queue": lost.get("guest egress", 0),
        },
    }
    before, stood = measured.guests[GUEST]
    measured.guests[GUEST] = (
        otherwise(before, interfaces=[make_nic(*nic) for nic in macs.items()]),
        otherwise(stood, interfaces=[make_nic(*nic, **counted[nic[0]]) for nic in macs.items()]),
    )
    return measured


@given(st.dictionaries(st.sampled_from(TAP_WAY), st.integers(1, SENT // len(TAP_WAY))))
def test_each_hop_is_charged_what_it_lost(lost: dict[str, int]) -> None:
    found = hops(lossy(lost))
    assert tuple(hop.name for hop in found) == TAP_WAY
    assert drops(found) == lost
    assert all(there.forwarded == here.received for there, here in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("hop", "reason"),
    [
        ("link", "queue full (dropped_queue of src0)"),
        ("UUT ingress", "ring full (dropped_out of src0)"),
        ("tap queue", "no room (dropped_out of guestp0)"),
        ("guest ring", "no room in the ring (dropped_in of the guest's eth0)"),
        ("guest egress", "queue full (dropped_queue of the guest's eth1)"),
        ("guest forwarding", None),
        ("sink", "ring full (dropped_out of out0)"),
    ],
)
def test_the_counter_that_saw_it_is_the_reason(hop: str, reason: str | None) -> None:
    (found,) = (each for each in hops(lossy({hop: 7})) if each.dropped)
    assert (found.name, found.reason) == (hop, reason)


def test_a_discipline_that_was_asked_for_is_named() -> None:
    measured = lossy({"guest egress": 7})
    measured.egress_words = "netem loss 1%"
    (found,) = (each for each in hops(measured) if each.dropped)
    assert found.reason == "dropped by netem loss 1% (dropped_queue of the guest's eth1)"


def test_duplicates_of_the_guests_queue_hide_no_loss_behind_it() -> None:
    measured = lossy({"guest egress": 7, "sink": 5})
    assert measured.interfaces is not None
    into, out = measured.guests[GUEST][1].interfaces
    change_guest(measured, interfaces=[into, structs.replace(out, sent=out.sent + 100)])
    after = measured.interfaces[1]
    after["uut/guestp1"]["received"] += 100
    after["uut/out0"]["sent"] += 100
    after["sink/snk0"]["received"] += 100
    assert drops(hops(measured)) == {"guest egress": 7, "sink": 5}


@pytest.mark.parametrize(
    ("hop", "place", "reason"),
    [
        ("link", ("source/src0", False), "TC_EGRESS (kfree_skb at src0)"),
        ("bridge port in", ("uut/in0", True), "TC_INGRESS (kfree_skb at in0)"),
        ("guest forwarding", ("guest/eth0", True), "IP_INNOROUTES (kfree_skb at the guest's eth0)"),
        ("bridge port out", ("uut/guestp1", True), "TC_INGRESS (kfree_skb at guestp1)"),
    ],
)
def test_the_kernels_reason_stands_where_no_counter_saw_it(
    hop: str, place: tuple[str, bool], reason: str
) -> None:
    measured = lossy({hop: 70})
    if hop == "link":
        measured.interfaces[1]["source/src0"]["dropped_queue"] = 3  # type: ignore[index]
    add_drop(measured, place, reason.partition(" ")[0], 70)
    add_drop(measured, place, "NOT_SPECIFIED", 5)
    (found,) = (each for each in hops(measured) if each.dropped)
    assert (found.name, found.reason) == (hop, reason)


def test_a_queue_that_was_being_replaced_is_not_the_far_rings_fault() -> None:
    measured = lossy({})
    for name in ("source/src0", "uut/out0"):
        measured.interfaces[1][name] |= {"dropped_out": 150, "sent": SENT - 150}  # type: ignore[index]
        add_drop(measured, (name, False), "QDISC_DROP", 150)
    measured.interfaces[1]["uut/in0"]["received"] = SENT - 150  # type: ignore[index]
    measured.interfaces[1]["sink/snk0"]["received"] = SENT - 150  # type: ignore[index]
    found = {hop.name: hop for hop in hops(measured)}
    assert found["link"].dropped == 150
    assert found["link"].reason == "QDISC_DROP (kfree_skb at src0)"
    assert found["UUT ingress"].dropped == found["sink"].dropped == 0


def test_a_frame_that_is_offered_again_is_lost_once() -> None:
    measured = lossy({"UUT ingress": 100})
    measured.interfaces[1]["source/src0"]["dropped_out"] = 130  # type: ignore[index]
    assert drops(hops(measured)) == {"UUT ingress": 100}


def test_probes_that_a_stopped_queue_refuses_found_the_ring_full() -> None:
    measured = lossy({"UUT ingress": 100})
    measured.interfaces[1]["source/src0"]["dropped_out"] = 0  # type: ignore[index]
    change_phase(measured, probes_refused=100)
    (found,) = (hop for hop in hops(measured) if hop.dropped)
    assert (found.name, found.reason) == ("UUT ingress", "ring full (refused probes of src0)")


def test_a_kernel_that_tells_nothing_is_no_kernel_without_drops() -> None:
    measured = lossy({"guest forwarding": 7})
    measured.drops, measured.no_drop_reasons = None, "this kernel does not report it"
    (found,) = (hop for hop in hops(measured) if hop.dropped)
    assert found.reason == "unknown: this kernel does not report it"


def test_a_guest_that_no_longer_tells_is_one_hop() -> None:
    measured = lossy({"guest ring": 3, "guest egress": 4})
    change_guest(measured, condition="ended")
    assert drops(hops(measured)) == {"guest": 7}


def test_a_guest_whose_taps_went_with_it_is_one_hop() -> None:
    measured = lossy({"guest ring": 3, "guest egress": 4})
    assert measured.interfaces is not None
    change_guest(measured, condition="ended")
    for tap in ("uut/guestp0", "uut/guestp1"):
        del measured.interfaces[1][tap]
    assert drops(hops(measured)) == {"guest": 7}


def test_raw_has_no_guest_on_its_way() -> None:
    found = hops(make_measured(make_cell(), received_share=0.9))
    assert [hop.name for hop in found] == ["link", "UUT ingress", "UUT forwarding", "UUT egress", "sink"]
    assert set(drops(found)) == {"UUT forwarding"}


def test_frames_that_join_are_no_loss() -> None:
    measured = lossy({})
    assert measured.interfaces is not None
    measured.interfaces[1]["uut/in0"]["received"] += 50
    assert drops(hops(measured)) == {"bridge port in": 50}
