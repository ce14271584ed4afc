"""Make a network on the machines of a testbed, and take it down."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from vtax.agent_api import SourceStream, StreamInterface
from vtax.keys.frames import FrameSpec
from vtax.testbed.clocks import ClockAhead
from vtax.testbed.end_acts import SetAddress
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, End, Machines
from vtax.testbed.network import FarEnd, Link, Network, Node, NodeAgent, Plug, Port
from vtax.testbed.settings import LocalSettings

CANARY = "instrument canary"
"""The agent of a machine that needs none else."""


@dataclass(frozen=True)
class Aboard:
    """An agent on a machine, and the machine's CPUs that have roles."""

    host: Host
    agent: str
    cpus: list[int]

    @classmethod
    def of(cls, host: Host, agent: str, cpus: Mapping[str, Sequence[int]]) -> Self:
        """Return an agent of a host on a machine whose CPUs have these roles; the controller's wait in a trial."""
        return cls(host, agent, [*dict.fromkeys([*cpus["agents"], *cpus["host"], *cpus["guests"]])])


class Testbed:
    """A network on its hosts. Those that it does not declare itself are of the testbed `around` it."""

    __test__ = False  # pytest takes it for a test by its name

    def __init__(self, network: Network, machines: Machines, around: "Testbed | None" = None) -> None:
        self.network = network
        self._machines = machines
        own = {node.name: machines.host(node.name, far=node.far) for node in network.nodes}
        self.hosts = tuple(own.values())
        """Its own hosts, in the order in which they are made."""
        self._by_name: dict[str, Host] = {**(around._by_name if around else {}), **own}
        self.watcher: Agent
        """Who watches the kernel of the UUT's machine."""
        self._started: list[Agent] = []

    @property
    def settings(self) -> LocalSettings:
        """Return what its links and hosts have in common."""
        return self.network.settings

    def host(self, name: str) -> Host:
        """Return the host of a name."""
        return self._by_name[name]

    @property
    def uut(self) -> Host:
        """Return the host whose work is measured."""
        return self.host("uut")

    @property
    def source(self) -> Host:
        """Return the host of the first source, or of the guests' peers."""
        return self.host("source")

    @property
    def guests(self) -> list[PlacedGuest]:
        """Return the guests, on whichever host."""
        return [guest.placed(self.host(guest.host_name)) for guest in self.network.guests]

    def guest(self, name: str) -> PlacedGuest:
        """Return the guest of a name."""
        (found,) = (guest for guest in self.guests if guest.name == name)
        return found

    def agents(self, name: str) -> list[Agent]:
        """Return the agents of a name, each on another host."""
        return [(self.host(agent.host), name) for agent in self.network.agents(name)]

    def build(self) -> None:
        """Make everything, in the order in which the network declares it."""
        self._started.clear()
        for part in self.network.parts:
            match part:
                case Node():
                    self.host(part.name).create(self.settings.bridge_netfilter)
                case NodeAgent():
                    self.start_agent(part)
                case Link():
                    self._lay(part)
                case Port():
                    self._open(part)

    def start_agent(self, agent: NodeAgent | FarEnd) -> None:
        """Start an agent that the network declares; one that is to watch has another do it where it cannot."""
        host = self.host(agent.host)
        host.start_agent(agent.name, "agents")
        self._started.append((host, agent.name))
        if agent.watches:
            self.watcher = self._machines.watcher(self.uut, (host, agent.name))
            self._started.append(self.watcher)

    def aboard(self) -> dict[str, Aboard]:
        """Return an agent on each machine, by the machine's name: the first that was started, or one of its own."""
        found: dict[str, Aboard] = {}
        for host, agent in [*self._started, *((host, None) for host in self.hosts)]:
            machine = self._machines.machine(host.name)
            if machine.name in found:
                continue
            if agent is None:
                host.start_agent(CANARY, "agents")
            found[machine.name] = Aboard.of(host, agent or CANARY, machine.cpus)
        return found

    def compare_clocks(self) -> dict[int, ClockAhead]:
        """Return how far the clock of a stream's sink is ahead of its source's by now, by stream."""
        streams = self.network.streams
        pairs = [(self.host(stream.source), self.host(stream.sink)) for stream in streams]
        compared = self._machines.compare_clocks(pairs)
        return {stream.number: ahead for stream, ahead in zip(streams, compared, strict=True)}

    def source_streams(self, count: int, frames: FrameSpec) -> list[SourceStream]:
        """Return the first `count` streams, of such frames, as `source.open` takes them."""
        return [stream.at_source(frames) for stream in self.network.streams[:count]]

    def sink_streams(self) -> list[StreamInterface]:
        """Return all streams, as `sink.open` takes them."""
        return [stream.at_sink for stream in self.network.streams]

    @property
    def entries(self) -> list[Plug]:
        """Return where the links from the sources of the streams end."""
        return [
            self.network.beyond(stream.source, stream.source_interface) for stream in self.network.streams
        ]

    def close(self) -> None:
        """Take everything down, UUT first, so that no frame meets half a path; a host that fails stops no other."""
        at = next((at for at, host in enumerate(self.hosts) if host is self.uut), len(self.hosts))
        before, uut, after = self.hosts[:at], self.hosts[at : at + 1], self.hosts[at + 1 :]
        with contextlib.ExitStack() as closing:
            for host in (*after, *before, *uut):
                closing.callback(host.close)

    def _lay(self, link: Link) -> None:
        self._machines.join(self._end(link.one), self._end(link.other), self.settings.mtu)
        for plug, far in ((link.one, link.other), (link.other, link.one)):
            end = self._end(plug)
            for act in plug.acts:
                end.set(act)
            if plug.ingress is not None:
                end.host.give_ingress_context(plug.interface, plug.ingress)
            if plug.member_of is not None:
                end.host.attach(plug.member_of, plug.interface, far.mac)

    def _open(self, port: Port) -> None:
        end = self._end(port.plug)
        end.host.open_port(port.name, port.kind, end.place, port.far, port.near, port.cap)
        if port.own_interface is not None:
            self._end(port.own_interface).set(SetAddress())

    def _end(self, plug: Plug) -> End:
        return End(self.host(plug.host), plug.interface, plug.mac)
