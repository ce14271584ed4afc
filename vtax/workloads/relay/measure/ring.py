"""The relays of a trial: who of them is where, and whom each sends to."""

from vtax.agent_api import RelayLoad, RelayLoadFields, RelayMode, RelayParams, RelayPath
from vtax.trial.endpoints.path import End
from vtax.workloads.relay.keys import Relay

FIRST_PORT = 5001
NULL_TESTS: dict[str, RelayLoad] = {
    "nothing": "nothing",
    "output": RelayLoadFields(output="full"),
    "lines": RelayLoadFields(output="line"),
}
"""What is timed in place of the message's round, by the name of the load."""
LOOPBACK = ("lo", "127.0.0.1")


def ring(ends: list[End], work: Relay, timeout_ms: int) -> list[list[RelayParams]]:
    """What `relay.open` is asked of each guest's agent, the master's first.

    Relays of one guest talk to each other inside it, those of several from NIC to NIC.
    """
    if work.load != "network":
        return [[_relay("master", NULL_TESTS[work.load], work)]]
    if work.is_in_one_guest:
        places = [(ends[0], LOOPBACK) for _ in range(work.hops)]
    else:
        places = [(end, (end.interface, end.address)) for end in ends]
    relays: dict[str, list[RelayParams]] = {}
    for hop, (end, (interface, address)) in enumerate(places):
        following = (hop + 1) % work.hops
        way = RelayPath(
            protocol=work.transport,
            connection=work.connection,
            timeout_ms=timeout_ms,
            interface=interface,
            address=address,
            port=FIRST_PORT + hop,
            next_address=places[following][1][1],
            next_port=FIRST_PORT + following,
        )
        relay = _relay("forwarder" if hop else "master", RelayLoadFields(network=way), work, hop)
        relays.setdefault(end.agent, []).append(relay)
    return list(relays.values())


def _relay(mode: RelayMode, load: RelayLoad, work: Relay, hop: int = 0) -> RelayParams:
    cpu = hop if work.pinned else None
    return RelayParams(mode=mode, cpu=cpu, message_bytes=work.message_bytes, load=load)
