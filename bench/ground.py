"""Where vtax and its peers send: from one interface, over one link, to the same counter at the end of the way."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyroute2 import IPRoute

from bench.counter import Counter, counted
from vtax.agent_api import AgentApi, SentPhase, SourceOpenParams, SourceStream
from vtax.machine.namespace import index_of
from vtax.machine.offloads import set_offload
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.addressing import UDP_PORT, StreamAddresses
from vtax.testbed.dedicated import dedicated
from vtax.testbed.host import Host
from vtax.testbed.link import LinkEnd, complete_frames, make_link, shape
from vtax.testbed.machines import OneMachine
from vtax.testbed.settings import LocalSettings
from vtax.testbed.testbed import Testbed

STREAM = StreamAddresses(0)
MTU = 1500
SOURCE_INTERFACE = "src0"


@dataclass(frozen=True)
class Ground:
    """The source's host with its agent `source`, and the far host, at whose `interface` frames end.

    `next_mac` and `next_ip` are the next hop's from the source, `back_mac` and `back_ip` from the far end.
    """

    source: Host
    far: Host
    interface: str
    far_ip: str
    next_mac: str
    next_ip: str
    back_mac: str
    back_ip: str
    record: OwnershipRecord
    cpus: dict[str, list[int]]
    directory: Path
    router: Host | None = None
    """The host in between, where there is one."""
    link_mbps: float | None = None
    """The rate of the source's link, which it keeps to; None is unlimited."""

    @property
    def cpu(self) -> int:
        """The core that every source has, and the first of one with several threads."""
        return self.cpus["agents"][0]

    @property
    def far_cpu(self) -> int:
        """Where a peer's far end runs."""
        return self.cpus["host"][0]

    @property
    def sender(self) -> AgentApi:
        """The methods of the source's agent."""
        return self.source.api("source")

    def open_source(self, threads: int = 1) -> None:
        """Open the source on the way to the far end, with so many threads, each with a strand."""
        stream = SourceStream(
            stream=STREAM.stream,
            interface=SOURCE_INTERFACE,
            source_mac=STREAM.source_mac,
            destination_mac=self.next_mac,
            source_ip=STREAM.source_ip,
            destination_ip=self.far_ip,
            source_port=UDP_PORT,
            destination_port=UDP_PORT,
            link_mbps=self.link_mbps,
        )
        cpus = self.cpus["agents"][:threads]
        self.sender.source_open(SourceOpenParams(cpus=cpus, streams=[stream], strands=threads))

    @contextlib.contextmanager
    def sending(self, threads: int = 1) -> Iterator[AgentApi]:
        """Have the source open while the block lasts: another's XDP socket could not be bound beside ours."""
        self.open_source(threads)
        try:
            yield self.sender
        finally:
            self.sender.source_close()

    @contextlib.contextmanager
    def offloading(self, feature: str) -> Iterator[None]:
        """Let the source's interface have a feature, as ethtool names it, while the block lasts."""
        set_offload(self.source.namespace, SOURCE_INTERFACE, feature, True)
        try:
            yield
        finally:
            set_offload(self.source.namespace, SOURCE_INTERFACE, feature, False)

    def counting(self, frame_bytes: int, at: str = "tc") -> contextlib.AbstractContextManager[Counter]:
        """Count and drop frames of one length at the far end."""
        return counted(self.far.namespace, self.interface, frame_bytes, self.directory, at=at)


@contextlib.contextmanager
def link_ground(
    record: OwnershipRecord,
    cpus: dict[str, list[int]],
    directory: Path,
    *,
    own_context: bool,
    link_mbps: float | None = None,
) -> Iterator[Ground]:
    """One veth pair, whose far end runs in the sender's context or in one of its own.

    Where it has a rate, it has flow control too, as a campaign's links do.
    """
    source, far = Host("source", record, cpus), Host("far", record, cpus)
    ground = Ground(
        *(source, far, "snk0", STREAM.uut_in_ip, STREAM.uut_in_mac, STREAM.uut_in_ip),
        *(STREAM.source_mac, STREAM.source_ip, record, cpus, directory),
        link_mbps=link_mbps,
    )
    try:
        source.create()
        far.create()
        source.start_agent("source", "agents")
        near_end = LinkEnd(source.namespace, SOURCE_INTERFACE, STREAM.source_mac)
        make_link(near_end, LinkEnd(far.namespace, ground.interface, STREAM.uut_in_mac), MTU)
        complete_frames(near_end)
        if link_mbps is not None:
            shape(near_end, None, flow_control=True)
        if own_context:
            far.give_ingress_context(ground.interface)
        _give_addresses(ground)
        yield ground
    finally:
        far.close()
        source.close()


@contextlib.contextmanager
def router_ground(
    record: OwnershipRecord, cpus: dict[str, list[int]], directory: Path, *, link_mbps: float | None = None
) -> Iterator[Ground]:
    """Two links with a router between them, the kernel's own, which runs in a context of its own."""
    settings, machines = LocalSettings(link_mbps, link_mbps is not None, MTU, cpus), OneMachine(record, cpus)
    testbed = Testbed(dedicated(settings, "wire", 1, machines.roles), machines)
    ground = Ground(
        *(testbed.source, testbed.host("sink"), "snk0", STREAM.sink_ip, STREAM.uut_in_mac, STREAM.uut_in_ip),
        *(STREAM.uut_out_mac, STREAM.uut_out_ip, record, cpus, directory),
        router=testbed.uut,
        link_mbps=link_mbps,
    )
    try:
        testbed.build()
        testbed.uut.start_agent("router", "host")
        testbed.uut.api("router").guest_configure(testbed.guests[0].configuration([]), timeout_s=30.0)
        _give_addresses(ground)
        yield ground
    finally:
        testbed.close()


def sent_fps(phase: SentPhase) -> float:
    """The rate at which the frames of a phase left, in frames a second; raises OSError where none did."""
    if phase.first_ns is None or phase.last_ns is None:
        raise OSError("the source sent nothing")
    return (phase.frames_sent - 1) / (phase.last_ns - phase.first_ns) * 1e9


def _give_addresses(ground: Ground) -> None:
    """Addresses, neighbours and routes for peers that have sockets."""
    near = partial(
        _address,
        interface=SOURCE_INTERFACE,
        own=STREAM.source_ip,
        next_ip=ground.next_ip,
        next_mac=ground.next_mac,
        other=ground.far_ip,
    )
    far = partial(
        _address,
        interface=ground.interface,
        own=ground.far_ip,
        next_ip=ground.back_ip,
        next_mac=ground.back_mac,
        other=STREAM.source_ip,
    )
    ground.source.namespace.netlink(near)
    ground.far.namespace.netlink(far)


def _address(ip: IPRoute, interface: str, own: str, next_ip: str, next_mac: str, other: str) -> None:
    index = index_of(ip, interface)
    ip.addr("add", index=index, address=own, prefixlen=24)
    ip.neigh("replace", ifindex=index, dst=next_ip, lladdr=next_mac, nud="permanent")
    if other != next_ip:
        ip.route("add", dst=f"{other}/32", gateway=next_ip)
