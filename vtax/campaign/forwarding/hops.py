"""Where a trial's frames were lost: received less forwarded at every hop of a stream's way.

Each hop forwards what the next one receives, so that the hops' drops add up to all that was lost. Counters are read
before and after a trial; they take in all its phases, and whatever else went the same way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from vtax.campaign.forwarding.drops import Drops, Place
from vtax.campaign.forwarding.trial import Measured
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import GUEST

Counters = dict[str, Any]
"""How much each counter of an interface grew in the trial; `kind` as `ip -d link` names it."""


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


def hops(measured: Measured) -> list[Hop]:
    """The hops of every stream that sent, in the order of its way; none where the counters were not read."""
    if measured.interfaces is None:
        return []
    before, after = measured.interfaces
    host = {name: _growth(before[name], after[name]) for name in after if name in before}
    guest = _guest_growth(measured)
    has_guest = f"uut/{GUEST}p0" in before
    return [
        hop
        for stream in measured.source["streams"]
        for hop in _Way(stream["stream"], Drops.of(measured), host, guest, measured.egress_words).hops(
            measured.departed(stream), measured.refused(stream), has_guest
        )
    ]


@dataclass(frozen=True)
class _Way:
    """One stream's way, and what was counted on it."""

    stream: int
    drops: Drops
    host: dict[str, Counters]
    guest: dict[str, Counters]
    discipline: str | None
    """What the guest's queue was asked to do (`platform.egress_qdisc`)."""

    def hops(self, departed: int, refused: int, has_guest: bool) -> Iterator[Hop]:
        """The hops of frames that departed; the link `refused` some of them."""
        stream, host = self.stream, self.host
        source, entry = host[f"source/src{stream}"], host[f"uut/in{stream}"]
        leave, sink = host[f"uut/out{stream}"], host[f"sink/snk{stream}"]
        enters, leaves = (f"uut/in{stream}", False), (f"uut/out{stream}", False)
        ring = self._ring_full(source, f"source/src{stream}", departed, refused)
        full = (
            ring,
            f"ring full ({'dropped_out' if source['dropped_out'] else 'refused probes'} of src{stream})",
        )
        there, back = (host.get(f"uut/{GUEST}p{2 * stream + side}") for side in (0, 1))

        on_link = source["sent"] + ring
        queue = _counted(source, "dropped_queue", "queue full")
        link = self._hop("link", departed, on_link, [queue], (f"source/src{stream}", False))
        yield replace(link, held_back=source["held_back"])
        yield self._hop("UUT ingress", on_link, entry["received"], [full], enters)
        arrived = (f"uut/in{stream}", True)
        if there is None or back is None:
            # The taps of a guest that died are gone with it.
            name = "guest" if has_guest else "UUT forwarding"
            yield self._hop(name, entry["received"], _offered(leave), [], arrived, leaves)
        else:
            yield from self._through_guest(arrived, entry, (there, back), leave)
        ring = self._ring_full(leave, f"uut/out{stream}", _offered(leave), 0)
        to_sink = leave["sent"] + ring
        yield self._egress("UUT egress", leave, _offered(leave), to_sink, leaves)
        lost = (ring, f"ring full (dropped_out of out{stream})")
        yield self._hop("sink", to_sink, sink["received"], [lost], (f"sink/snk{stream}", False))

    def _through_guest(
        self, arrived: Place, entry: Counters, ports: tuple[Counters, Counters], leave: Counters
    ) -> Iterator[Hop]:
        (there, back), (into, out_of) = ports, (f"uut/{port['name']}" for port in ports)
        yield self._hop("bridge port in", entry["received"], _offered(there), [], arrived, (into, False))
        if there["kind"] == "tun":
            yield self._egress("tap queue", there, _offered(there), there["sent"], (into, False))
            given, ring_full = there["sent"], []
        else:
            given, ring_full = _offered(there), [_counted(there, "dropped_out", "ring full")]
        addresses = StreamAddresses(self.stream)
        inside, out = self.guest.get(addresses.uut_in_mac), self.guest.get(addresses.uut_out_mac)
        if inside is None or out is None:
            yield self._hop("guest", given, back["received"], [])
        else:
            eth_in, eth_out = (f"{GUEST}/{nic['interface']}" for nic in (inside, out))
            no_room = _counted(inside, "dropped_in", "no room in the ring")
            yield self._hop("guest ring", given, inside["received"], [*ring_full, no_room], (eth_in, False))
            places = ((eth_in, True), (eth_out, False))
            yield self._hop("guest forwarding", inside["received"], _offered(out), [], *places)
            places = ((eth_out, False), (out_of, False))
            asked = f"dropped by {self.discipline}" if self.discipline else "queue full"
            yield self._egress("guest egress", out, _offered(out), back["received"], *places, queue=asked)
        places = ((out_of, True), (f"uut/out{self.stream}", False))
        yield self._hop("bridge port out", back["received"], _offered(leave), [], *places)

    def _egress(
        self,
        name: str,
        interface: Counters,
        received: int,
        forwarded: int,
        *places: Place,
        queue: str = "queue full",
    ) -> Hop:
        """An interface's queue and driver; `queue` is why it drops."""
        counted = [
            _counted(interface, "dropped_queue", queue),
            _counted(interface, "dropped_out", "no room"),
        ]
        return self._hop(name, received, forwarded, counted, *places)

    def _hop(
        self, name: str, received: int, forwarded: int, counted: list[tuple[int, str]], *places: Place
    ) -> Hop:
        """A hop that lost frames gives the counter that saw most of them, or else what the kernel says there."""
        hop = Hop(self.stream, name, received, forwarded)
        if not hop.dropped:
            return hop
        frames, words = max(counted, default=(0, ""))
        if 2 * frames >= hop.dropped:
            return replace(hop, reason=words)
        return replace(hop, reason=self.drops.reason(hop.dropped, places) or (words if frames else None))

    def _ring_full(self, interface: Counters, name: str, given: int, refused: int) -> int:
        """Frames that the far ring of a veth had no room for, those among them that its queue held back left out.

        Frames that pass by a queue are `refused` while it is stopped, which no counter of the interface shows. A frame
        that is refused amid a batch is offered again: no more are lost than did not go.
        """
        elsewhere = self.drops.by_no_queue(name, interface["dropped_queue"])
        full = max(interface["dropped_out"] - elsewhere, refused)
        return int(min(full, max(0, given - interface["sent"])))


def _tried(interface: Counters) -> int:
    """Frames that an interface's queue gave to the driver."""
    return int(interface["sent"] + interface["dropped_out"])


def _offered(interface: Counters) -> int:
    """Frames that an interface was given to send."""
    return int(_tried(interface) + interface["dropped_queue"])


def _counted(interface: Counters, counter: str, meaning: str) -> tuple[int, str]:
    return interface[counter], f"{meaning} ({counter} of {interface['name']})"


def _growth(before: Counters, after: Counters) -> Counters:
    return {
        key: value - before[key] if isinstance(value, int) and not isinstance(value, bool) else value
        for key, value in after.items()
    }


def _guest_growth(measured: Measured) -> dict[str, Counters]:
    """By MAC, what the guest's own interfaces counted; empty for a guest that no longer tells."""
    grown: dict[str, Counters] = {}
    for states in measured.guests.values():
        if any(state["condition"] != "answers" for state in states):
            continue
        before, after = (
            {nic["mac"]: {**nic, "name": f"the guest's {nic['interface']}"} for nic in state["interfaces"]}
            for state in states
        )
        grown |= {mac: _growth(before[mac], after[mac]) for mac in after if mac in before}
    return grown
