"""Describe a testbed's network as data: its hosts, links and ports in the order in which they are made, its guests."""

from collections.abc import Iterator
from dataclasses import dataclass

from vtax.agent_api import GuestConfigureParams, GuestNic, SourceStream, StreamInterface
from vtax.keys.frames import FrameSpec
from vtax.testbed.addressing import Station, StreamAddresses, source_stream
from vtax.testbed.cap import Cap
from vtax.testbed.end_acts import EndAct
from vtax.testbed.guest import GuestSpec, configuration
from vtax.testbed.settings import LocalSettings


@dataclass(frozen=True)
class Node:
    """A host. On the UUT's machine a `far` one has the agents' CPUs and no other."""

    name: str
    far: bool = False


@dataclass(frozen=True)
class NodeAgent:
    """An agent that a host has from the beginning, on the agents' CPUs."""

    host: str
    name: str
    watches: bool = False
    """Whether it watches the kernel of the UUT's machine, where it has that."""


@dataclass(frozen=True)
class Plug:
    """An end of a link: an interface of a host, and how that is set up."""

    host: str
    interface: str
    mac: str
    acts: tuple[EndAct, ...] = ()
    """What is done at it, in this order, once the link is there."""
    ingress: str | None = None
    """The role of the CPUs on which a kernel thread polls it; None leaves it to the sender's context."""
    member_of: str | None = None
    """The port of its host that it joins, with the far plug's MAC behind it."""


@dataclass(frozen=True)
class Link:
    """A link between two interfaces."""

    one: Plug
    other: Plug


@dataclass(frozen=True)
class Port:
    """A port at a link's end: the link leads to `far`, and the guests `near` meet the host there."""

    name: str
    kind: str
    """A key of vtax.testbed.ports.PORTS."""
    plug: Plug
    far: list[Station]
    near: list[Station]
    cap: Cap | None = None
    own_interface: Plug | None = None
    """The interface by which the host itself takes part, where that has an address of its own."""


Part = Node | NodeAgent | Link | Port


@dataclass(frozen=True)
class FarEnd:
    """An end of a flow that is no guest: an agent of its own answers for an interface of a host."""

    host: str
    name: str
    """The agent's."""
    interface: str
    nic: GuestNic
    """The interface as that agent sets it up."""
    forwards: bool = False
    """Whether the host's kernel has to forward, for a guest of its own."""
    watches: bool = False
    """As of NodeAgent."""

    @property
    def address(self) -> str:
        """Return its IP address."""
        return self.nic.address.partition("/")[0]

    @property
    def configuration(self) -> GuestConfigureParams:
        """Return the params of `guest.configure`."""
        return configuration([self.nic], forward=self.forwards)


FlowEnd = FarEnd | str
"""An end of a flow; a guest, at its first NIC, by its name."""


@dataclass(frozen=True)
class FrameStream:
    """A stream of frames from a source's interface to a sink's."""

    addresses: StreamAddresses
    source: str
    """The host that it comes from."""
    sink: str
    """The host that it goes to."""
    destination_mac: str
    link_mbps: float | None
    """The rate that its source keeps to (layer 1); None is unlimited."""

    def at_source(self, frames: FrameSpec) -> SourceStream:
        """Return the stream, of such frames, as `source.open` takes it."""
        return source_stream(
            self.addresses, self.source_interface, self.destination_mac, frames, self.link_mbps
        )

    @property
    def at_sink(self) -> StreamInterface:
        """Return the stream as `sink.open` takes it."""
        return StreamInterface(stream=self.number, interface=self.sink_interface)

    @property
    def number(self) -> int:
        """Return the stream's number."""
        return self.addresses.stream

    @property
    def source_interface(self) -> str:
        """Return the interface that it leaves its source by."""
        return f"src{self.number}"

    @property
    def sink_interface(self) -> str:
        """Return the interface that it enters its sink by."""
        return f"snk{self.number}"


@dataclass(frozen=True)
class Network:
    """The declaration of a network; vtax.testbed.testbed.Testbed makes it."""

    settings: LocalSettings
    parts: tuple[Part, ...]
    """All that is made before guests are started, in this order."""
    guests: tuple[GuestSpec, ...]
    ends: tuple[tuple[FlowEnd, FlowEnd], ...] = ()
    """Who talks to whom: the peer, and whom it has to reach."""
    streams: tuple[FrameStream, ...] = ()
    """What is forwarded, in the order of the streams' numbers."""
    beside: "Network | None" = None
    """Neighbours that have their place in this network already; None where they need links of their own."""

    @property
    def nodes(self) -> Iterator[Node]:
        """Return its hosts, in the order in which they are made."""
        return (part for part in self.parts if isinstance(part, Node))

    def agents(self, name: str) -> Iterator[NodeAgent]:
        """Return the agents of a name, each on another host."""
        return (part for part in self.parts if isinstance(part, NodeAgent) and part.name == name)

    def beyond(self, host: str, interface: str) -> Plug:
        """Return what an interface of a host is linked to."""
        links = [part for part in self.parts if isinstance(part, Link)]
        ends = [*((link.one, link.other) for link in links), *((link.other, link.one) for link in links)]
        return next(far for near, far in ends if (near.host, near.interface) == (host, interface))
