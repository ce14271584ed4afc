"""A path between agents at both ends of it: the guests themselves, their peers, or what is behind them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vtax.agent_api import AgentApi, EchoOpenParams, GoParams, GuestConfigureParams
from vtax.campaign.guest import called, ending
from vtax.campaign.neighbours.base import Neighbours
from vtax.campaign.path import Path, PathFacts, PathFailed
from vtax.campaign.trails import Way, end_host_ways
from vtax.machine.agent import AgentError, AgentGone
from vtax.platforms import PlatformConfig, Preset
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import PEER, SERVER, GuestSpec
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent
from vtax.testbed.pair import PairTestbed
from vtax.testbed.shared import SharedTestbed

READY_REPLIES = 200
READY_PER_S = 1000
READY_LIMIT_S = 10.0
READY_TRIAL = 0xFFFFFFFF
"""Trial number of what shows that a path is ready; trials count from 1."""

EndsTestbed = SharedTestbed | PairTestbed


@dataclass(frozen=True)
class End:
    """One end of a flow: who answers for it, and where it is on the network."""

    host: Host
    agent: str
    interface: str
    address: str
    cpu: int
    """As the end's own kernel counts."""
    shares_clock: bool
    """Whether its kernel's clock is the controller's."""

    @property
    def api(self) -> AgentApi:
        """The methods of its agent."""
        return self.host.api(self.agent)


def guest_end(guest: GuestSpec, address: str, *, own_kernel: bool) -> End:
    """An end that is a guest itself, at its first NIC. Raises PathFailed where it does not say what that is called."""
    state, mac = guest.state(), guest.interfaces[0].mac
    if not state.answers:
        raise PathFailed(ending(state, guest=called(guest.name)))
    interface = next((nic.interface for nic in state.interfaces if nic.mac == mac), None)
    if interface is None:
        raise PathFailed(f"{called(guest.name)} has no NIC {mac}")
    return End(
        guest.host,
        guest.name,
        interface,
        address,
        0 if own_kernel else guest.host.cpus["guests"][0],
        guest.host.shares_clock and not own_kernel,
    )


def far_end(
    host: Host, agent: str, configuration: GuestConfigureParams, interface: str, address: str, cpu: int
) -> End:
    """An end with an agent of its own, on a host that has the agents' CPUs."""
    host.start_agent(agent, "agents")
    host.api(agent).guest_configure(configuration)
    return End(host, agent, interface, address, cpu, host.shares_clock)


def await_echoes(peer: End, other: End, last_words: Callable[[], str]) -> None:
    """Until 200 echoes at 1000 a second all came back; raises PathFailed after 10 s."""
    way = EchoOpenParams(
        cpu=peer.cpu,
        interface=peer.interface,
        local_address=peer.address,
        remote_address=other.address,
        payload_bytes=56,
        interval_ms=1000 / READY_PER_S,
        timeout_ms=1000,
    )
    asked = GoParams(trial=READY_TRIAL, duration_s=READY_REPLIES / READY_PER_S)
    deadline = time.monotonic() + READY_LIMIT_S
    peer.api.echo_open(way)
    while True:
        peer.api.echo_go(asked)
        found = peer.api.echo_collect()
        if found.sent and not found.lost:
            break
        if time.monotonic() > deadline:
            raise PathFailed(
                f"{other.agent} does not answer all of {found.sent} echoes within {READY_LIMIT_S:g} s "
                f"({found.lost} lost)\n{last_words()}"
            )
    peer.api.echo_close()


class EndsPath(Path):
    """A path with a pair of ends for each guest: its peer, and the other end of what the peer is asked for."""

    testbed: EndsTestbed

    def __init__(
        self,
        preset: Preset,
        config: PlatformConfig,
        testbed: EndsTestbed,
        protocols: Sequence[str],
        samples_hz: int,
        neighbours: Neighbours | None = None,
    ) -> None:
        super().__init__(preset, config, testbed, protocols, samples_hz, neighbours)
        self.ends: list[tuple[End, End]] = []
        """Peer and other end, by the guest's number."""

    def open(self) -> PathFacts:
        """Build everything and wait until peers reach the other ends; raises PathFailed, PlatformUnusable, OSError."""
        self.build()
        begun = self.testbed.uut.counters([])["at_s"]
        try:
            hello_s = self.start_guests()
            self.ends = [(self.peer(stream), self.other_end(stream)) for stream in self.testbed.streams]
            self.choose_watcher()
            self.cpu_meter.open(*self.watcher)
            for peer, other in self.ends:
                await_echoes(peer, other, self.last_words)
            self.neighbours.ready()
            self.set_egress()
        except (AgentGone, AgentError) as error:
            raise PathFailed(f"{error}\n{self.last_words()}".strip()) from None
        ready_s = self.testbed.uut.counters([])["at_s"] - begun
        refused = self.cpu_meter.refused
        notes = () if refused is None else (f"CPU time is counted, not sampled: {refused}",)
        self.facts = PathFacts(hello_s, ready_s, (*self.scheduling_notes, *notes))
        return self.facts

    def other_end(self, stream: StreamAddresses) -> End:
        """The end that a stream's peer is to reach; its agent runs when this returns."""
        raise NotImplementedError

    def peer(self, stream: StreamAddresses) -> End:
        """A stream's peer: outside the guests' host, with an agent of its own."""
        testbed, number = self.testbed, stream.stream
        configuration = testbed.peer_configuration(stream)
        return self.make_far_end(
            testbed.source, f"{PEER}{number}", configuration, f"src{number}", stream.source_ip
        )

    @property
    def watcher(self) -> Agent:
        """Who watches the kernel of the UUT's machine."""
        return self.testbed.watcher

    def choose_watcher(self) -> None:
        """No end is told to: either may have another kernel."""

    @property
    def far_cpus(self) -> set[int]:
        """Where far guests run, as far as that is not where the UUT does."""
        return {cpu for peer, _ in self.ends for cpu in peer.host.cpus["guests"]} - {*self.uut_cpus}

    @property
    def far_end_cpu(self) -> int:
        """Where bare far ends run, all of them."""
        return self.testbed.source.cpus["agents"][0]

    def ways(self) -> list[Way]:
        """The ways that a traced trial follows packets along."""
        return end_host_ways(self.testbed, self.nic)

    def guest_end(self, guest: GuestSpec, address: str) -> End:
        """An end that is a guest itself, at its first NIC."""
        return guest_end(guest, address, own_kernel=self.preset.platform().own_kernel)

    def make_far_end(
        self, host: Host, agent: str, configuration: GuestConfigureParams, interface: str, address: str
    ) -> End:
        """An end with an agent of its own, on a host that has the agents' CPUs."""
        return far_end(host, agent, configuration, interface, address, host.cpus["agents"][0])


class SharedEndsPath(EndsPath):
    """A path behind one link that all guests share; a server is behind each guest that is a router."""

    testbed: SharedTestbed

    def choose_watcher(self) -> None:
        """The first peer, where that has the kernel."""
        self.testbed.watch((self.testbed.source, self.ends[0][0].agent))

    def other_end(self, stream: StreamAddresses) -> End:
        """The stream's guest itself."""
        return self.guest_end(self.testbed.guests[stream.stream], stream.uut_in_ip)

    def make_server(self, stream: StreamAddresses) -> End:
        """The end behind a guest that is a router, with an agent of its own."""
        testbed, number = self.testbed, stream.stream
        configuration = testbed.server_configuration(stream)
        return self.make_far_end(
            testbed.sink, f"{SERVER}{number}", configuration, f"snk{number}", stream.sink_ip
        )


class PairEndsPath(EndsPath):
    """A path of one pair of ends: a bare peer or a second guest, and the guest that is asked, or sends and receives."""

    testbed: PairTestbed

    def peer(self, stream: StreamAddresses) -> End:
        """The second guest where there is one."""
        _, *second = self.testbed.guests
        return self.guest_end(second[0], stream.source_ip) if second else super().peer(stream)

    def other_end(self, stream: StreamAddresses) -> End:
        """The guest."""
        return self.guest_end(self.testbed.guests[0], stream.uut_in_ip)
