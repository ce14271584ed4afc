"""The paths of packets past the hosts of a network: whose they are, and where they end."""

import pytest

from tests.helpers.noted_machines import CPUS, NotedMachines
from vtax.stages import Joint
from vtax.stages.hooks import SUNK, NicKind
from vtax.stages.trails import Interface, Place
from vtax.testbed.dedicated import dedicated
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.network import Network
from vtax.testbed.pair import pair
from vtax.testbed.settings import LocalSettings
from vtax.testbed.shared import shared
from vtax.testbed.testbed import Testbed
from vtax.trial.tracing import path as trace_path
from vtax.trial.tracing.path import TracePath, end_host_trace_paths, router_trace_paths

SETTINGS = LocalSettings(None, False, 1500, CPUS)
MACHINES = NotedMachines()


def joint(guest: PlacedGuest, number: int, kind: NicKind) -> Joint:
    """Where a guest's NIC would meet its host."""
    netns = guest.host.name
    link = Interface("wire", Place(guest.nics[number].port, netns), Place("far", "elsewhere"))
    return Joint(link, None if kind == "wire" else Interface(kind, Place(f"{guest.name}p{number}", netns)))


@pytest.fixture(autouse=True)
def no_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made, and no host is asked what its interfaces are."""
    monkeypatch.setattr(trace_path, "joint_of", joint)


def named(paths: list[TracePath]) -> list[tuple[str, int | None, str]]:
    return [(path.host, path.guest, path.trail.name) for path in paths]


def port(kind: NicKind) -> str:
    return "wire" if kind == "wire" else "bridge"


def ends_of(network: Network, kind: NicKind) -> list[tuple[str, int | None, str]]:
    return named(end_host_trace_paths(Testbed(network, MACHINES), kind))


def test_guests_behind_one_link_have_ways_of_their_own() -> None:
    paths = ends_of(shared(SETTINGS, "bridge", 2, forwards=False), "tap")
    assert paths == [
        ("uut", 0, "uut guest0 rx"),
        ("uut", 0, "uut guest0 tx"),
        ("uut", 1, "uut guest1 rx"),
        ("uut", 1, "uut guest1 tx"),
    ]


def test_guests_of_the_bare_host_have_one_nic_and_one_way() -> None:
    paths = ends_of(shared(SETTINGS, "wire", 2, forwards=False), "wire")
    assert paths == [("uut", None, "uut guest0 rx"), ("uut", None, "uut guest0 tx")]


def test_bare_hosts_with_a_link_between_them_have_a_way_each() -> None:
    paths = ends_of(pair(SETTINGS, "wire", "inter-host"), "wire")
    assert {(host, name) for host, _, name in paths} == {
        (host, f"{host} {guest} {direction}")
        for host, guest in (("uut", "guest0"), ("source", "guest1"))
        for direction in ("rx", "tx")
    }


def test_guests_of_one_host_send_to_each_other_inside_it() -> None:
    paths = ends_of(pair(SETTINGS, "bridge", "intra-host"), "tap")
    assert paths == [("uut", 0, "guest0 to guest1"), ("uut", 1, "guest1 to guest0")]


def test_streams_with_links_of_their_own_end_in_their_sinks() -> None:
    paths = router_trace_paths(Testbed(dedicated(SETTINGS, "bridge", 2, MACHINES.roles), MACHINES), "tap")
    assert named(paths) == [("uut", 0, "guest stream 0"), ("uut", 0, "guest stream 1")]
    assert {path.trail.points[-1].hook for path in paths} == {SUNK[-1].name}


@pytest.mark.parametrize("kind", ["tap", "wire"])
def test_streams_behind_one_link_end_in_a_switch(kind: NicKind) -> None:
    network = shared(SETTINGS, port(kind), 2, forwards=True, busy_source=True)
    paths = router_trace_paths(Testbed(network, MACHINES), kind)
    assert [path.guest for path in paths] == ([None] if kind == "wire" else [0, 1])
    assert SUNK[-1].name not in {path.trail.points[-1].hook for path in paths}
