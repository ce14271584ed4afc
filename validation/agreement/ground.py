"""Where the comparison takes place: two ends that frames cross between, for vtax and for every other tool alike.

Test frames need no addresses at the ends; tools with sockets do. They get those of the addressing plan, static
neighbours, and sinks and sources of vtax's own for the way back.
"""

from dataclasses import dataclass, replace

from pyroute2 import IPRoute

from vtax.agent_api import SinkOpenParams, SourceOpenParams, SourceStream, StreamInterface
from vtax.machine.namespace import index_of
from vtax.machine.offloads import set_offload
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.addressing import UDP_PORT, StreamAddresses
from vtax.testbed.host import Host
from vtax.workloads.forwarding.measure.path import ForwardingPath

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

    def stream_to(self, far: "End") -> SourceStream:
        """The stream from here to the far end, as `source.open` takes it."""
        return SourceStream(
            stream=STREAM.stream,
            interface=self.interface,
            source_mac=self.mac,
            destination_mac=self.next_mac,
            source_ip=self.ip,
            destination_ip=far.ip,
            source_port=UDP_PORT,
            destination_port=UDP_PORT,
        )


@dataclass(frozen=True)
class Ground:
    """Both ends, the CPU that tools at the ends run on, and what is between them.

    `emulated` is said of a guest's CPU.
    """

    near: End
    far: End
    record: OwnershipRecord
    cpu: int
    emulated: bool = False

    def turned(self) -> "Ground":
        """The same with its ends exchanged: the way back is the way there."""
        return replace(self, near=self.far, far=self.near)


def path_ground(path: ForwardingPath, record: OwnershipRecord, *, emulated: bool) -> Ground:
    """The ends of a ready path, with addresses, and with a way back beside that of source and sink."""
    testbed = path.testbed
    at_source = (STREAM.source_mac, STREAM.source_ip, STREAM.uut_in_mac, STREAM.uut_in_ip)
    at_sink = (STREAM.sink_mac, STREAM.sink_ip, STREAM.uut_out_mac, STREAM.uut_out_ip)
    near = End(testbed.source, "src0", *at_source, sender="source", receiver="back-sink")
    far = End(testbed.host("sink"), "snk0", *at_sink, sender="back-source", receiver="sink")
    ground = Ground(near, far, record, testbed.settings.cpus["agents"][0], emulated)
    _give_addresses(near, far)
    _give_addresses(far, near)
    near.host.start_agent(near.receiver, "agents")
    far.host.start_agent(far.sender, "agents")
    received = StreamInterface(stream=STREAM.stream, interface=near.interface)
    near.host.api(near.receiver).sink_open(SinkOpenParams(streams=[received], attach="auto"))
    sent = SourceOpenParams(cpus=[ground.cpu], streams=[far.stream_to(near)])
    far.host.api(far.sender).source_open(sent)
    return ground


def _give_addresses(end: End, far: End) -> None:
    def act(ip: IPRoute) -> None:
        index = index_of(ip, end.interface)
        ip.addr("add", index=index, address=end.ip, prefixlen=24)
        ip.neigh("replace", ifindex=index, dst=end.next_ip, lladdr=end.next_mac, nud="permanent")
        ip.route("add", dst=f"{far.ip}/32", gateway=end.next_ip)

    end.host.namespace.netlink(act)
    # Sockets' checksums are written in full: what a veth leaves to its far end, a guest may have to check.
    set_offload(end.host.namespace, end.interface, "tx-checksum-ip-generic", False)
