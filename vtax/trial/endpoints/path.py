"""A path between agents at both ends of it: the guests themselves, their peers, or what is behind them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from vtax.agent_api import AgentApi, EchoOpenParams, GoParams
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent
from vtax.testbed.network import FlowEnd
from vtax.testbed.testbed import Testbed
from vtax.trial.guest import called, ending
from vtax.trial.path import Path, PathFailed
from vtax.trial.tracing.path import TracePath, end_host_trace_paths

READY_REPLIES = 200
READY_PER_S = 1000
READY_LIMIT_S = 10.0
READY_TRIAL = 0xFFFFFFFF
"""Trial number of what shows that a path is ready; trials count from 1."""


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


def make_end(testbed: Testbed, declared: FlowEnd, *, own_kernel: bool) -> End:
    """Return an end as a network declares it; its agent runs when this returns.

    Guests have kernels of their own or their host's. Raises PathFailed as guest_end does.
    """
    if isinstance(declared, str):
        return guest_end(testbed.guest(declared), own_kernel=own_kernel)
    host = testbed.host(declared.host)
    testbed.start_agent(declared)
    host.api(declared.name).guest_configure(declared.configuration)
    cpu = host.cpus["agents"][0]
    return End(host, declared.name, declared.interface, declared.address, cpu, host.shares_clock)


def guest_end(guest: PlacedGuest, *, own_kernel: bool) -> End:
    """Return an end that is a guest itself, at its first NIC.

    Raises PathFailed where it does not say what that is called.
    """
    state, nic = guest.state(), guest.interfaces[0]
    if not state.answers:
        raise PathFailed(ending(state, guest=called(guest.name)))
    interface = next((each.interface for each in state.interfaces if each.mac == nic.mac), None)
    if interface is None:
        raise PathFailed(f"{called(guest.name)} has no NIC {nic.mac}")
    return End(
        guest.host,
        guest.name,
        interface,
        nic.address.partition("/")[0],
        0 if own_kernel else guest.host.cpus["guests"][0],
        guest.host.shares_clock and not own_kernel,
    )


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


class EndpointPath(Path):
    """A path between the ends that its network declares: peers, and whom each of them has to reach."""

    ends: list[tuple[End, End]]
    """Peer and other end, by the guest's number; others once it is opened again."""

    def make_ready(self) -> None:
        """Wait until peers reach the other ends."""
        self.ends = [(self.make_end(peer), self.make_end(other)) for peer, other in self.testbed.network.ends]
        self.cpu_meter.open(*self.watcher)
        for peer, other in self.ends:
            await_echoes(peer, other, self.last_words)

    def make_end(self, declared: FlowEnd) -> End:
        """Return an end as the network declares it."""
        return make_end(self.testbed, declared, own_kernel=self.preset.platform().own_kernel)

    @property
    def watcher(self) -> Agent:
        """Who watches the kernel of the UUT's machine."""
        return self.testbed.watcher

    @property
    def far_cpus(self) -> set[int]:
        """Where far guests run, as far as that is not where the UUT does."""
        return {cpu for peer, _ in self.ends for cpu in peer.host.cpus["guests"]} - {*self.uut_cpus}

    @property
    def far_end_cpu(self) -> int:
        """Where bare far ends run, all of them."""
        return self.testbed.source.cpus["agents"][0]

    def trace_paths(self) -> list[TracePath]:
        """The ways that a traced trial follows packets along."""
        return end_host_trace_paths(self.testbed, self.nic)
