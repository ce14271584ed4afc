"""Encapsulations: the least frame of each, and what cannot be sent in one."""

from itertools import product

import pytest

from vtax.inputs import InputError
from vtax.keys.encapsulation import Encapsulation
from vtax.scenario import load_scenario

QUICK = load_scenario("quick")


def test_the_least_frame_is_its_headers_and_the_test_fields() -> None:
    assert [Encapsulation(*each).least_frame_bytes for each in product((4, 6), (None, 7))] == [64, 68, 84, 88]


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        (["ip_version=6", "frame_bytes=83"], "83 is too small for IPv6; allowed: 84 to 1514"),
        (["ip_version=6", "frame_bytes=7:64 4:590"], "64 is too small for IPv6"),
        (["vlan=5", "frame_bytes=67"], "67 is too small for IPv4 in a VLAN; allowed: 68 to 1518"),
        (["vlan=5", "frame_bytes=1519"], "1519 does not fit a link of mtu 1500; allowed: 68 to 1518"),
        (["ip_version=6", "frame_bytes=100", "mtu=1279"], "1279 is too small for IPv6; allowed: 1280"),
        (["ip_version=5"], "5 is not allowed; allowed: 4, 6"),
        (["vlan=0"], "0 is too small; allowed: 1 to 4094, or none"),
        (["vlan=4095"], "4095 is too large"),
        (["flows=0"], "0 is too small; allowed: 1 to 65536"),
        (["flows=65537"], "65537 is too large"),
        (["flows=2", "workload.mechanism=gso"], "a train has frames of one length and flow"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(sets: list[str], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        QUICK.override(sets=["intended_mbps=10", *sets])
    assert problem in str(refused.value)


def test_the_shortest_frame_of_imix_is_the_least() -> None:
    for ip_version, vlan in product((4, 6), (None, 7)):
        sets = ["intended_mbps=10", "frame_bytes=imix", f"ip_version={ip_version}", f"vlan={vlan or 'none'}"]
        (cell, *_) = QUICK.override(sets=sets).cells()
        least = Encapsulation(ip_version, vlan).least_frame_bytes
        assert sorted(set(cell.frame_load.lengths.cycle)) == [least, 590, 1514]


def test_another_encapsulation_is_another_testbed_and_flows_are_not() -> None:
    sets = ["ip_version=4,6", "vlan=none,7", "flows=1,64", "frame_bytes=1500", "intended_mbps=10"]
    cells = QUICK.override(["raw"], sets).cells()
    assert len(cells) == 8
    plots = {cell.plot: cell.workload.encapsulation for cell in cells}
    assert len(plots) == 4
    assert set(plots.values()) == {Encapsulation(*each) for each in product((4, 6), (None, 7))}
    assert {cell.factors["vlan"] for cell in cells} == {"none", 7}
