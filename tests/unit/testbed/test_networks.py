"""The networks of the built-in testbeds: what they are made of, in which order, and who talks to whom."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.helpers import laid_networks
from tests.helpers.noted_machines import CPUS, NotedMachines
from vtax.agent_api import GuestConfigureParams
from vtax.scenario.frames import FrameSpec
from vtax.testbed.dedicated import DedicatedTestbed
from vtax.testbed.neighbours import FAR_AGENT, Needs, OnGuestsLink, OwnLinks
from vtax.testbed.pair import BURST_FRAMES, PairTestbed
from vtax.testbed.ring import RingTestbed
from vtax.testbed.settings import LocalSettings
from vtax.testbed.shared import SharedTestbed

SETTINGS = LocalSettings(1000.0, True, 1500, CPUS, cap_mbps=100.0)
NETWORKS: dict[str, Callable[[str, NotedMachines], Any]] = {
    "dedicated": lambda port, machines: DedicatedTestbed(SETTINGS, 2, machines),
    "shared-routers": lambda port, machines: SharedTestbed(SETTINGS, 2, machines, forwards=True),
    "shared-end-hosts": lambda port, machines: SharedTestbed(SETTINGS, 2, machines, forwards=False),
    "guest-to-peer": lambda port, machines: PairTestbed(SETTINGS, "guest-to-peer", machines),
    "inter-host": lambda port, machines: PairTestbed(SETTINGS, "inter-host", machines, BURST_FRAMES, 1),
    "intra-host": lambda port, machines: PairTestbed(SETTINGS, "intra-host", machines, BURST_FRAMES, 1),
    "ring": lambda port, machines: RingTestbed(SETTINGS, 1 if port == "wire" else 3, machines),
}
OWN_LINKS = {"forwarding-neighbours": False, "talking-neighbours": True}
PORTS = ["wire", "bridge", "routed", "ovs"]
CASES = [case for case in product(NETWORKS, PORTS) if case != ("intra-host", "wire")]
"""The bare host has no two guests."""


def laid(port: str, machines: NotedMachines, testbeds: list[Any]) -> str:
    """Build a network, and neighbours in it, and take both down."""
    for testbed in testbeds:
        testbed.build(port)
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


def guests(testbed: Any) -> Iterator[str]:
    for guest in testbed.guests:
        nics = guest.nics, guest.interfaces
        yield from laid_networks.guest(
            guest.name, guest.host.name, *nics, guest.forwards, list(guest.egress_macs)
        )


def ends(testbed: Any) -> Iterator[str]:
    match testbed:
        case SharedTestbed():
            for guest, stream in zip(testbed.guests, testbed.streams, strict=True):
                number = stream.stream
                peer = _end(f"peer{number} at source/src{number}", testbed.peer_configuration(stream))
                server = guest.name
                if testbed.forwards:
                    server = _end(f"server{number} at sink/snk{number}", testbed.server_configuration(stream))
                yield f"{peer} -> {server}"
        case PairTestbed():
            guest, *second = testbed.guests
            peer = (
                second[0].name
                if second
                else _end("peer0 at source/src0", testbed.peer_configuration(testbed.streams[0]))
            )
            yield f"{peer} -> {guest.name}"
        case RingTestbed():
            names = [guest.name for guest in testbed.guests]
            yield from (
                f"{name} -> {other}" for name, other in zip(names, [*names[1:], names[0]], strict=True)
            )
        case OwnLinks() | OnGuestsLink():
            for number, (stream, guest) in enumerate(zip(testbed.streams, testbed.guests, strict=True)):
                name = f"{FAR_AGENT} {number} at {testbed.far.name}/{testbed.far_interface(stream)}"
                yield f"{_end(name, testbed.far_configuration(stream))} -> {guest.name}"


def streams(testbed: Any) -> Iterator[str]:
    match testbed:
        case OwnLinks():
            yield from laid_networks.streams(
                [links.at_source(FrameSpec(64)) for links in testbed.links],
                [links.at_sink for links in testbed.links],
            )
        case DedicatedTestbed() | SharedTestbed(forwards=True):
            sources = testbed.source_streams(len(testbed.streams), FrameSpec(64))
            yield from laid_networks.streams(sources, testbed.sink_streams())


def _end(name: str, configuration: GuestConfigureParams) -> str:
    (nic,) = configuration.nics
    routes = ", routes" if configuration.forward else ""
    return f"{name} ({laid_networks.nic(nic)}{routes})"


@pytest.mark.parametrize(("name", "port"), CASES)
def test_a_network_is_laid_as_it_always_was(name: str, port: str, snapshot: SnapshotAssertion) -> None:
    machines = NotedMachines(2)
    network = NETWORKS[name](port, machines)
    beside = isinstance(network, PairTestbed) and network.beside
    testbeds = [network, *([OnGuestsLink(network, Needs())] if beside else [])]
    assert laid(port, machines, testbeds) == snapshot


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("name", OWN_LINKS)
def test_neighbours_have_links_of_their_own(name: str, port: str, snapshot: SnapshotAssertion) -> None:
    machines = NotedMachines(2)
    around = DedicatedTestbed(SETTINGS, 1, machines)
    beside = OwnLinks(SETTINGS, 1, around.uut, machines, Needs(), talks=OWN_LINKS[name])
    assert laid(port, machines, [around, beside]) == snapshot
