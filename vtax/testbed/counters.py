"""What the interfaces of a namespace have counted."""

from typing import TypedDict

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from vtax.machine.namespace import Namespace

TC_H_ROOT = 0xFFFFFFFF


class _Frames(TypedDict):
    received: int
    sent: int
    dropped_in: int
    """Dropped on their way in."""
    dropped_out: int
    """Dropped by the driver on their way out."""


class _Queue(TypedDict):
    dropped_queue: int
    """Frames that its queueing discipline dropped."""
    held_back: int
    """How often its queue found that the far ring had no room (requeues of the root qdisc)."""


class InterfaceCounters(_Frames, _Queue):
    """Totals of one interface, in frames."""

    name: str
    kind: str | None
    """As `ip -d link` names it."""
    dropped_port: int
    """Frames that a port dropped of what came by the interface: the port knows, and it is 0 before that is asked."""


def interface_counters(namespace: Namespace) -> dict[str, InterfaceCounters]:
    """Return the totals of every interface, by name."""

    def read(ip: IPRoute) -> tuple[list[ifinfmsg], list[tcmsg]]:
        return list(ip.get_links()), list(ip.get_qdiscs())

    links, qdiscs = namespace.netlink(read)
    queues = {qdisc["index"]: _queue(qdisc) for qdisc in qdiscs if qdisc["parent"] == TC_H_ROOT}
    return {
        name: {
            "name": name,
            "kind": link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND"),
            **_frames(link),
            **queues.get(link["index"], _queue(None)),
            "dropped_port": 0,
        }
        for link in links
        if (name := link.get_attr("IFLA_IFNAME")) != "lo"
    }


def _queue(qdisc: tcmsg | None) -> _Queue:
    statistics = qdisc.get_attr("TCA_STATS2") if qdisc is not None else None
    queue = statistics.get_attr("TCA_STATS_QUEUE") if statistics else None
    return {
        "dropped_queue": int(queue["drops"]) if queue else 0,
        "held_back": int(queue["requeues"]) if queue else 0,
    }


def _frames(link: ifinfmsg) -> _Frames:
    stats, kind = link.get_attr("IFLA_STATS64"), link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND")
    if kind == "macvtap":
        # Seen from the guest, unlike a tap; what the queue to its reader had no room for is among the received.
        full = stats["rx_dropped"]
        return {
            "received": stats["tx_packets"],
            "sent": stats["rx_packets"] - full,
            "dropped_in": stats["tx_dropped"],
            "dropped_out": full,
        }
    # What a program at a tap takes, as a sink's does, its driver counts as dropped and as nothing else.
    takes = kind == "tun" and link.get_nested("IFLA_XDP", "IFLA_XDP_DRV_PROG_ID")
    taken = stats["rx_dropped"] if takes else 0
    return {
        "received": stats["rx_packets"] + taken,
        "sent": stats["tx_packets"],
        "dropped_in": stats["rx_dropped"] - taken + stats["rx_missed_errors"],
        "dropped_out": stats["tx_dropped"],
    }
