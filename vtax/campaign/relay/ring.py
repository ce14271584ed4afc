"""The relays of a trial: who of them is where, and whom each sends to."""

from typing import Any

from vtax.campaign.ends import End
from vtax.scenario import Relay

FIRST_PORT = 5001
LOOPBACK = {"interface": "lo", "address": "127.0.0.1"}


def ring(ends: list[End], work: Relay, timeout_ms: int) -> list[list[dict[str, Any]]]:
    """What `relay.open` is asked of each guest's agent, the master's first.

    Relays of one guest talk to each other inside it, those of several from NIC to NIC.
    """
    if work.load != "network":
        return [[_relay("master", work.without_network, work)]]
    if work.is_in_one_guest:
        places = [(ends[0], LOOPBACK) for _ in range(work.hops)]
    else:
        places = [(end, {"interface": end.interface, "address": end.address}) for end in ends]
    relays: dict[str, list[dict[str, Any]]] = {}
    for hop, (end, place) in enumerate(places):
        following = (hop + 1) % work.hops
        way = {
            **work.way(timeout_ms),
            **place,
            "port": FIRST_PORT + hop,
            "next_address": places[following][1]["address"],
            "next_port": FIRST_PORT + following,
        }
        relay = _relay("forwarder" if hop else "master", {"network": way}, work, hop)
        relays.setdefault(end.agent, []).append(relay)
    return list(relays.values())


def _relay(mode: str, load: Any, work: Relay, hop: int = 0) -> dict[str, Any]:
    return {
        "mode": mode,
        "cpu": hop if work.pinned else None,
        "message_bytes": work.message_bytes,
        "load": load,
    }
