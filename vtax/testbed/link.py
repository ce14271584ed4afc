"""A link: two interface ends, a rate, a frame size, and what happens when the far end cannot keep up.

A veth pair stands for the wire. An end that sends streams or messages is shaped by a token bucket that counts layer 1
(24 bytes of preamble, gap and FCS a frame); a source of test frames keeps to the rate by itself. With flow control the
sender's sockets block while the far end's ring is full.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.machine.namespace import Namespace, index_of
from vtax.machine.offloads import SEGMENTATION, send_whole, set_offload
from vtax.machine.operation import becomes_operational
from vtax.units import OVERHEAD_BYTES

BURST_BYTES = 64 * 1024
"""The least burst that reaches 1000 Mbit/s here without gaps; 4 KiB loses 7 to 9% of the rate."""
LIMIT_BYTES = 300_000
"""More than a socket's default send buffer holds, so that a full queue blocks the sender and drops nothing."""

HOST_LIMIT_BYTES = 1000 * 1538
"""What a host's own queue holds, as Linux has it by default: a thousand full frames (txqueuelen)."""

CAP_BURST_S, LEAST_BURST_FRAMES = 0.001, 4
"""How late timers may be for a cap to be reached, and what it lets pass at once at least."""
AMPLE_MBPS = 100_000.0
"""More than any end here sends."""

ETHERNET_BYTES, VLAN_TAG_BYTES = 14, 4

SHAPER = "1:"
"""The handle of a shaped end's token bucket."""

ONE_QUEUE = {"num_tx_queues": 1, "num_rx_queues": 1}
"""A wire is one queue: frames keep their order, and one program at a time sees them."""
TAGS = "tx-vlan-hw-insert"


@dataclass(frozen=True)
class EndPlace:
    """Where a link ends on its host: an interface, and its MAC address."""

    interface: str
    mac: str


@dataclass(frozen=True)
class LinkEnd:
    """One end of a link: an interface in a namespace, and its MAC address."""

    namespace: Namespace
    interface: str
    mac: str


def make_link(source: LinkEnd, destination: LinkEnd, mtu: int) -> None:
    """Join two ends by a veth pair and bring both up, so that frames pass. TSO is off: every frame crosses as itself.

    Raises TimeoutError where the kernel does not bring them up.
    """
    peer = {
        "ifname": destination.interface,
        "net_ns_fd": str(destination.namespace.path),
        "address": destination.mac,
        "mtu": mtu,
        **ONE_QUEUE,
    }
    pair = {"ifname": source.interface, "kind": "veth", "address": source.mac, "mtu": mtu, **ONE_QUEUE}
    source.namespace.netlink(lambda ip: ip.link("add", **pair, peer=peer))
    for end in (source, destination):
        for feature in SEGMENTATION:
            set_offload(end.namespace, end.interface, feature, False)
        end.namespace.bring_up(end.interface)
    for end in (source, destination):
        if not _comes_up(end):
            raise TimeoutError(f"the link {source.interface} to {destination.interface} does not come up")


def _comes_up(end: LinkEnd) -> bool:
    return end.namespace.netlink(lambda ip: becomes_operational(ip, index_of(ip, end.interface)))


def set_address(end: LinkEnd) -> None:
    """Give an interface that was made elsewhere its MAC address."""
    end.namespace.netlink(lambda ip: ip.link("set", index=index_of(ip, end.interface), address=end.mac))


def complete_frames(end: LinkEnd) -> None:
    """Have every frame leave `end` in one piece and with its checksum, as a wire would bring it."""
    send_whole(end.namespace, end.interface)


def tag_inside(end: LinkEnd) -> None:
    """Have tagged frames leave `end` with the tag inside: beside the frame, a veth's XDP program would not see it."""
    set_offload(end.namespace, end.interface, TAGS, False)


def shape(end: LinkEnd, link_mbps: float | None, flow_control: bool) -> None:
    """Give what `end` sends the link's rate (layer 1; None is unlimited) and its answer to a full far ring.

    With flow control a queue holds back what the far ring has no room for, and with it the sender. Without, the
    frame is dropped there and then: loss at the hop "UUT ingress". A shaped veth always holds back.
    """
    _shape(end, link_mbps, flow_control, f"burst {BURST_BYTES} limit {LIMIT_BYTES}")


def shape_host(
    end: LinkEnd, link_mbps: float | None, flow_control: bool, mtu: int, burst_frames: int | None = None
) -> None:
    """As `shape`, for a host that sends streams of its own: with the queue that hosts have.

    So many frames take no time on it, as many as of `shape` unless `burst_frames` says how many.

    Their kernels hand over many segments at once, to which the bucket adds its overhead once: 1.5% more would pass than
    the link has. What is longer than its peak rate allows it cuts into frames first; the peak is beyond all rates.
    """
    longest = _longest_bytes(mtu)
    burst_bytes = BURST_BYTES if burst_frames is None else burst_frames * longest
    bucket = f"burst {burst_bytes} limit {HOST_LIMIT_BYTES} peakrate 1000gbit mtu {longest}"
    _shape(end, link_mbps, flow_control, bucket)


def share(end: LinkEnd, link_mbps: float | None, flow_control: bool, macs: Sequence[str], mtu: int) -> None:
    """As `shape`, for a switch's end that several senders share: each has its queue, and they take turns.

    One queue for all drops the frames of whoever is out of step with it, and senders of one rate stay so. The turns
    are those of a hierarchical token bucket below the link's own, which is never short of tokens.
    """
    shape(end, link_mbps, flow_control)
    if link_mbps is None:
        return
    device, ample = f"dev {end.interface}", f"{round(10 * link_mbps * 1e6)}bit burst {BURST_BYTES}"
    lines = [f"qdisc replace {device} parent {SHAPER} handle 2: htb default 1"]
    for number, mac in enumerate(macs, start=1):
        lines += [
            f"class add {device} parent 2: classid 2:{number} htb rate {ample} quantum {mtu + OVERHEAD_BYTES}",
            f"qdisc add {device} parent 2:{number} bfifo limit {LIMIT_BYTES}",
            f"filter add {device} parent 2: protocol all u32 match ether src {mac} classid 2:{number}",
        ]
    _run(end.namespace, "tc -batch -", "\n".join(lines))


def switch_to(end: LinkEnd, interface: str, macs: Sequence[str]) -> None:
    """Have what arrives at `end` for these MACs leave by another interface here, in its sender's socket no longer.

    A frame keeps its sender's socket through veth pairs and bridges. One that waits in a switch's queue would count
    against that socket's buffer, and the sender would wait where a switch loses frames. A copy has no socket.
    """
    device = f"dev {end.interface}"
    lines = [f"qdisc add {device} clsact"]
    lines += [
        f"filter add {device} ingress protocol all u32 match ether dst {mac} "
        f"action mirred egress mirror dev {interface} drop"
        for mac in macs
    ]
    _run(end.namespace, "tc -batch -", "\n".join(lines))


def cap(
    end: LinkEnd, cap_mbps: float, senders: Sequence[str], mtu: int, burst_frames: int | None = None
) -> None:
    """Let `end` take at most so much (layer 1) of what each sender sends; what is beyond waits in its own queue.

    `senders` are tc's words for their frames, as in `ether src MAC`; the first has all that are no other's. Below the
    bucket of a shaped end, or one that is never short of tokens: either cuts what is longer than a frame.
    """
    shaped = f"qdisc tbf {SHAPER}" in _run(end.namespace, f"tc qdisc show dev {end.interface}")
    longest = _longest_bytes(mtu)
    if not shaped:
        ample = f"burst {BURST_BYTES} limit {HOST_LIMIT_BYTES} peakrate 1000gbit mtu {longest}"
        _shape(end, AMPLE_MBPS, True, ample)
    device = f"dev {end.interface}"
    burst_bytes = _cap_burst_bytes(cap_mbps, longest, burst_frames)
    rate = (
        f"rate {round(cap_mbps * 1e6)}bit burst {burst_bytes} cburst {burst_bytes} overhead {OVERHEAD_BYTES}"
    )
    lines = [f"qdisc replace {device} parent {SHAPER} handle 2: htb default 1"]
    for number, sender in enumerate(senders, start=1):
        protocol = sender.partition(" ")[0].replace("ether", "all")
        lines += [
            f"class add {device} parent 2: classid 2:{number} htb {rate} quantum {longest}",
            f"qdisc add {device} parent 2:{number} bfifo limit {LIMIT_BYTES}",
            f"filter add {device} parent 2: protocol {protocol} u32 match {sender} classid 2:{number}",
        ]
    _run(end.namespace, "tc -batch -", "\n".join(lines))


def _cap_burst_bytes(cap_mbps: float, longest_bytes: int, burst_frames: int | None) -> int:
    """What a cap lets pass at once: as many frames as are asked for, or what makes up for late timers."""
    if burst_frames is not None:
        return burst_frames * longest_bytes
    late_bytes = round(cap_mbps * 1e6 / 8 * CAP_BURST_S)
    return max(LEAST_BURST_FRAMES * longest_bytes, min(BURST_BYTES, late_bytes))


def _longest_bytes(mtu: int) -> int:
    """Of a frame at layer 1."""
    return mtu + ETHERNET_BYTES + VLAN_TAG_BYTES + OVERHEAD_BYTES


def _shape(end: LinkEnd, link_mbps: float | None, flow_control: bool, bucket: str) -> None:
    if link_mbps is not None:
        _run(
            end.namespace,
            f"tc qdisc replace dev {end.interface} root handle {SHAPER} tbf rate {round(link_mbps * 1e6)}bit "
            f"overhead {OVERHEAD_BYTES} {bucket}",
        )
    elif flow_control:
        _run(end.namespace, f"tc qdisc replace dev {end.interface} root pfifo limit 1000")


def _run(namespace: Namespace, command: str, words: str = "") -> str:
    arguments = ["nsenter", f"--net={namespace.path}", "--", *command.split()]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=10, input=words)
    if done.returncode != 0:
        raise OSError(f"{command}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
