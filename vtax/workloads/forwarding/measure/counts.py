"""What the interfaces of a stream's way counted in a trial, and what a hop is charged by that."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

from vtax.agent_api import InterfaceState
from vtax.testbed.counters import InterfaceCounters
from vtax.trial.frames.measured import Measured
from vtax.trial.guest import called
from vtax.workloads.forwarding.measure.drops import Drops, Place

READ_BY_AN_EMULATOR = ("tun", "macvtap")
"""Kinds of interfaces whose queue is emptied by whoever has their descriptor."""
Drop = Literal["dropped_in", "dropped_out", "dropped_queue", "dropped_port"]
"""A counter of dropped frames."""
Seen = tuple[int, str]
"""Frames that a counter saw dropped, and what that means."""


class Counters(InterfaceCounters):
    """How much each counter of an interface grew in the trial; `name` is what it is called in words."""

    interface: str


@dataclass(frozen=True)
class Hop:
    """A place that frames pass. `reason` tells what saw them dropped and why, None where nothing did."""

    stream: int
    name: str
    received: int
    forwarded: int
    reason: str | None = None
    held_back: int = 0

    @property
    def dropped(self) -> int:
        """Frames that did not go on; none where others joined them."""
        return max(0, self.received - self.forwarded)


@dataclass(frozen=True)
class Counts:
    """All that was counted: by the hosts' interfaces (host/name), by the guests' own (MAC), and by the kernel."""

    host: dict[str, Counters]
    guest: dict[str, Counters]
    drops: Drops
    discipline: str | None
    """What the guests' queues were asked to do (`platform.egress_qdisc`)."""
    gone: frozenset[str]
    """The hosts' interfaces that were there before the trial only."""

    @classmethod
    def of(cls, measured: Measured) -> Self:
        """Those of a trial whose counters were read."""
        before, after = measured.interfaces or ({}, {})
        host = {
            name: _growth(before[name], after[name], after[name]["name"]) for name in after if name in before
        }
        gone = frozenset(before.keys() - after.keys())
        return cls(host, _guest_growth(measured), Drops.of(measured), measured.egress_words, gone)

    def hop(
        self, stream: int, name: str, received: int, forwarded: int, seen: list[Seen], *places: Place
    ) -> Hop:
        """A hop that lost frames gives the counter that saw most of them, or else what the kernel says there."""
        hop = Hop(stream, name, received, forwarded)
        if not hop.dropped:
            return hop
        frames, words = max(seen, default=(0, ""))
        if 2 * frames >= hop.dropped:
            return replace(hop, reason=words)
        return replace(hop, reason=self.drops.reason(hop.dropped, places) or (words if frames else None))

    def egress(
        self,
        stream: int,
        name: str,
        interface: Counters,
        received: int,
        forwarded: int,
        *places: Place,
        queue: str = "queue full",
    ) -> Hop:
        """An interface's queue and driver; `queue` is why it drops."""
        seen = [counted(interface, "dropped_queue", queue), counted(interface, "dropped_out", "no room")]
        return self.hop(stream, name, received, forwarded, seen, *places)

    def ring_full(self, name: str, given: int, refused: int = 0) -> int:
        """Frames that the far ring of a veth had no room for, those among them that its queue held back left out.

        Frames that pass by a queue are `refused` while it is stopped, which no counter of the interface shows. A frame
        that is refused amid a batch is offered again: no more are lost than did not go.
        """
        interface = self.host[name]
        elsewhere = self.drops.by_no_queue(name, interface["dropped_queue"])
        full = max(interface["dropped_out"] - elsewhere, refused)
        return min(full, max(0, given - interface["sent"]))

    def through_guest(
        self, stream: int, guest: str, into: str, out_of: str, macs: tuple[str, str]
    ) -> Iterator[Hop]:
        """From the port `into` a guest to the one `out_of` it; `macs` are those of its NICs at these."""
        there, back = self.host[into], self.host[out_of]
        if there["kind"] in READ_BY_AN_EMULATOR:
            yield self.egress(stream, "tap queue", there, offered(there), there["sent"], (into, False))
            given, ring_full = there["sent"], list[Seen]()
        else:
            given, ring_full = offered(there), [counted(there, "dropped_out", "ring full")]
        inside, out = (self.guest.get(mac) for mac in macs)
        if inside is None or out is None:
            yield self.hop(stream, "guest", given, back["received"], [])
            return
        eth_in, eth_out = (f"{guest}/{nic['interface']}" for nic in (inside, out))
        no_room = [*ring_full, counted(inside, "dropped_in", "no room in the ring")]
        yield self.hop(stream, "guest ring", given, inside["received"], no_room, (eth_in, False))
        places = ((eth_in, True), (eth_out, False))
        yield self.hop(stream, "guest forwarding", inside["received"], offered(out), [], *places)
        places = ((eth_out, False), (out_of, False))
        asked = f"dropped by {self.discipline}" if self.discipline else "queue full"
        yield self.egress(stream, "guest egress", out, offered(out), back["received"], *places, queue=asked)

    def on_top(self, stream: int, guest: str, entry: str, leave: str, macs: tuple[str, str]) -> Iterator[Hop]:
        """The same where the guest's NICs are on top of the link's ends `entry` and `leave`, with no port between."""
        inside, out = (self.guest[mac] for mac in macs)
        eth_in, eth_out = (f"{guest}/{nic['interface']}" for nic in (inside, out))
        received, given = self.host[entry]["received"], inside["received"]
        no_room = [counted(inside, "dropped_in", "no room")]
        places: list[Place] = [(entry, True), (eth_in, False)]
        yield self.hop(stream, "macvtap port in", received, given, no_room, *places)
        places = [(eth_in, True), (eth_out, False)]
        yield self.hop(stream, "guest forwarding", given, offered(out), [], *places)
        places = [(eth_out, False), (leave, False)]
        asked = f"dropped by {self.discipline}" if self.discipline else "queue full"
        went = offered(self.host[leave])
        yield self.egress(stream, "guest egress", out, offered(out), went, *places, queue=asked)


def offered(interface: Counters) -> int:
    """Frames that an interface was given to send."""
    return interface["sent"] + interface["dropped_out"] + interface["dropped_queue"]


def counted(interface: Counters, counter: Drop, meaning: str) -> Seen:
    """What one counter of an interface saw."""
    return interface[counter], f"{meaning} ({counter} of {interface['name']})"


def _growth(before: InterfaceCounters, after: InterfaceCounters, interface: str) -> Counters:
    return {
        "name": after["name"],
        "interface": interface,
        "kind": after["kind"],
        "received": after["received"] - before["received"],
        "sent": after["sent"] - before["sent"],
        "dropped_in": after["dropped_in"] - before["dropped_in"],
        "dropped_out": after["dropped_out"] - before["dropped_out"],
        "dropped_queue": after["dropped_queue"] - before["dropped_queue"],
        "dropped_port": after["dropped_port"] - before["dropped_port"],
        "held_back": after["held_back"] - before["held_back"],
    }


def _of_guest(guest: str, nic: InterfaceState) -> InterfaceCounters:
    return {
        "name": f"{called(guest)}'s {nic.interface}",
        "kind": None,
        "received": nic.received,
        "sent": nic.sent,
        "dropped_in": nic.dropped_in,
        "dropped_out": nic.dropped_out,
        "dropped_queue": nic.dropped_queue,
        "dropped_port": 0,
        "held_back": 0,
    }


def _guest_growth(measured: Measured) -> dict[str, Counters]:
    """By MAC, what the guests' own interfaces counted; nothing of a guest that no longer tells."""
    grown: dict[str, Counters] = {}
    for name, states in measured.guests.items():
        if not all(state.answers for state in states):
            continue
        before, after = ({nic.mac: nic for nic in state.interfaces} for state in states)
        grown |= {
            mac: _growth(_of_guest(name, before[mac]), _of_guest(name, nic), nic.interface)
            for mac, nic in after.items()
            if mac in before
        }
    return grown
