"""Counters of the interfaces on a way, and what was charged to its hops."""

from typing import Any

from vtax.testbed.counters import InterfaceCounters
from vtax.workloads.forwarding.measure.counts import Hop

SENT = 10_000


def interface(name: str, received: int = 0, sent: int = 0, **counted: Any) -> InterfaceCounters:
    """An interface's counters; those that are not named are 0."""
    return {
        "name": name,
        "kind": "tun",
        "received": received,
        "sent": sent,
        "dropped_in": counted.get("dropped_in", 0),
        "dropped_out": counted.get("dropped_out", 0),
        "dropped_queue": counted.get("dropped_queue", 0),
        "dropped_port": counted.get("dropped_port", 0),
        "held_back": counted.get("held_back", 0),
    }


def drops(found: list[Hop]) -> dict[str, int]:
    return {hop.name: hop.dropped for hop in found if hop.dropped}
