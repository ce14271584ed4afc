"""Where the comparison takes place: two ends that frames cross between, for vtax and for every other tool alike.

Test frames need no addresses at the ends; tools with sockets do. They get those of the addressing plan, static
neighbours, and sinks and sources of vtax's own for the way back.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyroute2 import IPRoute

from vtax.campaign.path import Path
from vtax.machine.ingress import set_offload
from vtax.machine.namespace import index_of
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.addressing import UDP_PORT, StreamAddresses
from vtax.testbed.host import Host
from vtax.testbed.local import GUEST, LocalSettings, LocalTestbed

STREAM = StreamAddresses(0)


@dataclass(frozen=True)
class End:
    """An end of the way: where it is, who the next hop is, and the agents that send and receive there."""

    host: Host
    interface: str
    mac: str
    ip: str
    next_mac: str
    next_ip: str
    sender: str
    receiver: str

    def stream_to(self, far: "End") -> dict[str, Any]:
        """The stream from here to the far end, as `source.open` takes it."""
        return {
            "stream": STREAM.stream,
            "interface": self.interface,
            "source_mac": self.mac,
            "destination_mac": self.next_mac,
            "source_ip": self.ip,
            "destination_ip": far.ip,
            "source_port": UDP_PORT,
            "destination_port": UDP_PORT,
        }


@dataclass(frozen=True)
class Ground:
    """Both ends, the CPU that tools at the ends run on, and what is between them.

    `emulated` is said of a guest's CPU; a guest that `sleeps` has a kernel of its own, whose threads this host wakes.
    """

    near: End
    far: End
    record: OwnershipRecord
    cpu: int
    emulated: bool = False
    sleeps: bool = False


def path_ground(path: Path, record: OwnershipRecord, *, emulated: bool) -> Ground:
    """The ends of a ready path, source and sink."""
    testbed = path.testbed
    sleeps = any(thread.startswith(GUEST) for thread in testbed.uut.counters([])["threads"])
    near = _near(testbed.source)
    far = End(
        testbed.sink,
        "snk0",
        STREAM.sink_mac,
        STREAM.sink_ip,
        STREAM.uut_out_mac,
        STREAM.uut_out_ip,
        "back-source",
        "sink",
    )
    return _ready(Ground(near, far, record, testbed.settings.cpus["agents"][0], emulated, sleeps))


@contextmanager
def wire_ground(settings: LocalSettings, record: OwnershipRecord) -> Iterator[Ground]:
    """The ends of a path's first link alone: what end hosts and tools take when there is nothing between them."""
    testbed = LocalTestbed(settings, 1, record)
    try:
        testbed.build("wire")
        near = _near(testbed.source)
        far = End(
            testbed.uut,
            "in0",
            STREAM.uut_in_mac,
            STREAM.uut_in_ip,
            STREAM.source_mac,
            STREAM.source_ip,
            "back-source",
            "sink",
        )
        ground = Ground(near, far, record, settings.cpus["agents"][0])
        far.host.start_agent(far.receiver, "agents")
        _open_sink(far)
        _open_source(near, far, ground.cpu)
        yield _ready(ground)
    finally:
        testbed.close()


def _near(host: Host) -> End:
    return End(
        host,
        "src0",
        STREAM.source_mac,
        STREAM.source_ip,
        STREAM.uut_in_mac,
        STREAM.uut_in_ip,
        "source",
        "back-sink",
    )


def _ready(ground: Ground) -> Ground:
    """A ground whose way there is open, with addresses and the way back."""
    near, far = ground.near, ground.far
    for end, other in ((near, far), (far, near)):
        _give_addresses(end, other)
    near.host.start_agent(near.receiver, "agents")
    far.host.start_agent(far.sender, "agents")
    _open_sink(near)
    _open_source(far, near, ground.cpu)
    return ground


def _open_sink(end: End) -> None:
    streams = [{"stream": STREAM.stream, "interface": end.interface}]
    end.host.call(end.receiver, "sink.open", {"streams": streams, "attach": "auto"})


def _open_source(end: End, far: End, cpu: int) -> None:
    end.host.call(end.sender, "source.open", {"cpu": cpu, "streams": [end.stream_to(far)]})


def _give_addresses(end: End, far: End) -> None:
    def act(ip: IPRoute) -> None:
        index = index_of(ip, end.interface)
        ip.addr("add", index=index, address=end.ip, prefixlen=24)
        ip.neigh("replace", ifindex=index, dst=end.next_ip, lladdr=end.next_mac, nud="permanent")
        if far.ip != end.next_ip:
            ip.route("add", dst=f"{far.ip}/32", gateway=end.next_ip)

    end.host.namespace.netlink(act)
    # Sockets' checksums are written in full: what a veth leaves to its far end, a guest may have to check.
    set_offload(end.host.namespace, end.interface, "tx-checksum-ip-generic", False)
