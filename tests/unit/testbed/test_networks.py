"""The networks of the built-in testbeds: what they are made of, in which order, and who talks to whom."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import product

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.helpers import laid_networks
from tests.helpers.noted_machines import CPUS, NotedMachines
from vtax.keys.frames import FrameSpec
from vtax.testbed.dedicated import dedicated
from vtax.testbed.neighbours import own_links
from vtax.testbed.network import FarEnd, FlowEnd, Network
from vtax.testbed.pair import BURST_FRAMES, pair
from vtax.testbed.ring import ring
from vtax.testbed.settings import LocalSettings
from vtax.testbed.shared import shared
from vtax.testbed.testbed import Testbed

SETTINGS = LocalSettings(1000.0, True, 1500, CPUS, cap_mbps=100.0)
NETWORKS: dict[str, Callable[[str], Network]] = {
    "dedicated": lambda port: dedicated(SETTINGS, port, 2, NotedMachines(2).roles),
    "shared-routers": lambda port: shared(SETTINGS, port, 2, forwards=True),
    "shared-end-hosts": lambda port: shared(SETTINGS, port, 2, forwards=False),
    "guest-to-peer": lambda port: pair(SETTINGS, port, "guest-to-peer"),
    "inter-host": lambda port: pair(SETTINGS, port, "inter-host", BURST_FRAMES, 1),
    "intra-host": lambda port: pair(SETTINGS, port, "intra-host", BURST_FRAMES, 1),
    "ring": lambda port: ring(SETTINGS, port, 1 if port == "wire" else 3),
}
OWN_LINKS = {
    "forwarding-neighbours": lambda port: own_links(SETTINGS, port, 1),
    "talking-neighbours": lambda port: own_links(SETTINGS, port, 1, talks=True),
}
PORTS = ["wire", "bridge", "routed", "ovs"]
CASES = [case for case in product(NETWORKS, PORTS) if case != ("intra-host", "wire")]
"""The bare host has no two guests."""


def laid(network: Network, beside: Network | None = None) -> str:
    """Build a network, and neighbours in it, and take both down."""
    machines = NotedMachines(2)
    testbeds = [Testbed(network, machines)]
    if beside is not None:
        testbeds.append(Testbed(beside, machines, around=testbeds[0]))
    for testbed in testbeds:
        testbed.build()
    acts = deepcopy(machines.acts)
    machines.acts.clear()
    for testbed in testbeds:
        testbed.close()
    return laid_networks.sections(
        made=laid_networks.made(acts),
        set_up=laid_networks.set_up(acts),
        guests=(line for testbed in testbeds for line in guests(testbed)),
        ends=(line for testbed in testbeds for line in ends(testbed)),
        streams=(line for testbed in testbeds for line in streams(testbed)),
        watched=laid_networks.watched(acts),
        taken_down=[laid_networks.taken_down(machines.acts)],
    )


def guests(testbed: Testbed) -> Iterator[str]:
    for guest in testbed.guests:
        nics = guest.nics, guest.interfaces
        yield from laid_networks.guest(
            guest.name, guest.host.name, *nics, guest.forwards, list(guest.egress_macs)
        )


def ends(testbed: Testbed) -> Iterator[str]:
    for peer, other in testbed.network.ends:
        yield f"{_end(peer)} -> {_end(other)}"


def streams(testbed: Testbed) -> Iterator[str]:
    count = len(testbed.network.streams)
    return laid_networks.streams(testbed.source_streams(count, FrameSpec(64)), testbed.sink_streams())


def _end(end: FlowEnd) -> str:
    if isinstance(end, str):
        return end
    (nic,) = end.configuration.nics
    routes = ", routes" if end.configuration.forward else ""
    return f"{end.name} at {end.host}/{end.interface} ({laid_networks.nic(nic)}{routes})"


@pytest.mark.parametrize(("name", "port"), CASES)
def test_a_network_is_laid_as_it_always_was(name: str, port: str, snapshot: SnapshotAssertion) -> None:
    network = NETWORKS[name](port)
    assert laid(network, network.beside) == snapshot


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("name", OWN_LINKS)
def test_neighbours_have_links_of_their_own(name: str, port: str, snapshot: SnapshotAssertion) -> None:
    around = dedicated(SETTINGS, port, 1, NotedMachines().roles)
    assert laid(around, OWN_LINKS[name](port)) == snapshot


@pytest.mark.parametrize(
    ("network", "host", "interfaces"),
    [
        (dedicated(SETTINGS, "wire", 2, NotedMachines(2).roles), "uut", ["in0", "in1"]),
        (shared(SETTINGS, "wire", 2, forwards=True), "switch", ["to-src0", "to-src1"]),
    ],
    ids=["dedicated", "shared"],
)
def test_frames_enter_where_the_links_of_their_sources_end(
    network: Network, host: str, interfaces: list[str]
) -> None:
    entries = Testbed(network, NotedMachines(2)).entries
    assert [(entry.host, entry.interface) for entry in entries] == [(host, name) for name in interfaces]


def test_of_bare_peers_the_first_watches_once_it_runs() -> None:
    machines = NotedMachines()
    testbed = Testbed(shared(SETTINGS, "bridge", 2, forwards=False), machines)
    testbed.build()
    assert not any(method == "watcher" for method, _ in machines.acts)
    for peer, _ in testbed.network.ends:
        assert isinstance(peer, FarEnd)
        testbed.start_agent(peer)
    assert testbed.watcher == (testbed.source, "peer0")
    assert [params for method, params in machines.acts if method == "watcher"] == [
        {"of": "uut", "host": "source", "agent": "peer0"}
    ]


def test_a_host_that_fails_keeps_no_other_from_being_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = NotedMachines()
    testbed = Testbed(NETWORKS["shared-routers"]("bridge"), machines)
    testbed.build()

    def fail() -> None:
        raise OSError("device is busy")

    monkeypatch.setattr(testbed.host("switch"), "close", fail)
    machines.acts.clear()
    with pytest.raises(OSError, match="device is busy"):
        testbed.close()
    assert laid_networks.taken_down(machines.acts) == "uut, source, sink"
