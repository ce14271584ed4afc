"""The hops of streams whose guests share an uplink and a downlink, each joined to the far ends by a switch.

A stream has counters of its own at its far ends, where its links enter and leave the switches, and at its guest's
ports. In between, interfaces count all streams together. What a stream lost there is charged to the hops there in the
proportions that all streams together were dropped in: so the losses of each stream add up, and those of each hop too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import guest_name
from vtax.trial.frames.measured import Measured
from vtax.workloads.forwarding.measure.counts import Counters, Counts, Hop, Seen, counted, offered

ALL = -1
"""In the place of a stream's number: all of them."""
UPLINK, ENTRY, EXIT, DOWNLINK = "switch/trunk-in", "uut/in", "uut/out", "switch/trunk-out"


@dataclass(frozen=True)
class SharedWay:
    """Source -> switch -> UUT -> switch -> sink, through a guest of each stream's own."""

    measured: Measured

    def entry(self, stream: int) -> str:
        """Where the source's link of a stream ends."""
        return f"switch/to-src{stream}"

    @property
    def uut_entries(self) -> list[str]:
        """Where frames enter the UUT."""
        return [ENTRY]

    def hops(self, counts: Counts) -> Iterator[Hop]:
        """Those of every stream, in the order of its way."""
        streams = [stream.stream for stream in self.measured.source.streams]
        guests = [guest_name(stream, len(streams)) for stream in streams]
        ports = [(f"uut/{guest}p0", f"uut/{guest}p1") for guest in guests]
        arrived = [counts.host[self.entry(stream)]["received"] for stream in streams]
        to_sink = [_to_sink(counts, stream) for stream in streams]
        up = list(_uplink(counts, sum(arrived)))
        down = list(_downlink(counts, streams, sum(to_sink)))
        if all(port in counts.host for both in ports for port in both):
            given = [offered(counts.host[into]) for into, _ in ports]
            came = [counts.host[out_of]["received"] for _, out_of in ports]
            switch = self.measured.cell.testbed.switch
            up.append(_port_in(counts, switch, sum(given), [into for into, _ in ports]))
            down.insert(0, _port_out(counts, switch, sum(came), [out_of for _, out_of in ports]))
        else:
            # The ports of a guest that died are gone with it, and raw has none.
            given, came = to_sink, to_sink
            name = "guest" if any(into in counts.gone for into, _ in ports) else "UUT forwarding"
            entered, left = counts.host[ENTRY]["received"], offered(counts.host[EXIT])
            middle = counts.hop(ALL, name, entered, left, [], (ENTRY, True), (EXIT, False))
            up, down = [*up, middle, *down], []
        for number, (stream, source) in enumerate(zip(streams, self.measured.source.streams, strict=True)):
            departed = self.measured.departed(source)
            yield self._link(counts, stream, departed, arrived[number])
            yield from shares(stream, arrived[number], given[number], up)
            if down:
                addresses = StreamAddresses(stream)
                macs = (addresses.uut_in_mac, addresses.uut_out_mac)
                yield from counts.through_guest(stream, guests[number], *ports[number], macs)
                yield from shares(stream, came[number], to_sink[number], down)
            yield _sink(counts, stream, to_sink[number])

    def _link(self, counts: Counts, stream: int, departed: int, arrived: int) -> Hop:
        name = f"source/src{stream}"
        places = ((name, False), (self.entry(stream), False))
        link = counts.egress(stream, "link", counts.host[name], departed, arrived, *places)
        return replace(link, held_back=counts.host[name]["held_back"])


def shares(stream: int, received: int, forwarded: int, together: Sequence[Hop]) -> Iterator[Hop]:
    """A stream's shares of hops that count all streams `together`: of their drops, as much as it lost there."""
    lost = max(0, received - forwarded)
    dropped = sum(hop.dropped for hop in together)
    so_far, here = 0, received
    for hop in together:
        so_far += hop.dropped
        gone_on = received - round(lost * so_far / dropped) if dropped else received
        if hop is together[-1]:
            gone_on = forwarded
        yield replace(hop, stream=stream, received=here, forwarded=gone_on)
        here = gone_on


def _uplink(counts: Counts, arrived: int) -> Iterator[Hop]:
    """From the switch into the UUT."""
    trunk, entry = counts.host[UPLINK], counts.host[ENTRY]
    ring = counts.ring_full(UPLINK, offered(trunk))
    on_link = trunk["sent"] + ring
    queue = counted(trunk, "dropped_queue", "queue full")
    switch = counts.hop(ALL, "switch", arrived, on_link, [queue], (UPLINK, False))
    yield replace(switch, held_back=trunk["held_back"])
    full = [(ring, "ring full (dropped_out of trunk-in)")]
    yield counts.hop(ALL, "UUT ingress", on_link, entry["received"], full, (ENTRY, False))


def _port_in(counts: Counts, switch: str, given: int, ports: list[str]) -> Hop:
    places = [(ENTRY, True), *((port, False) for port in ports)]
    entry = counts.host[ENTRY]
    return counts.hop(ALL, f"{switch} port in", entry["received"], given, [_no_room(entry)], *places)


def _port_out(counts: Counts, switch: str, came: int, ports: list[str]) -> Hop:
    places = [*((port, True) for port in ports), (EXIT, False)]
    full = [_no_room(counts.host[port]) for port in ports]
    return counts.hop(ALL, f"{switch} port out", came, offered(counts.host[EXIT]), full, *places)


def _no_room(interface: Counters) -> Seen:
    return counted(interface, "dropped_port", "no room in the switch")


def _downlink(counts: Counts, streams: Sequence[int], to_sink: int) -> Iterator[Hop]:
    """From the UUT's queue to the links of the sink."""
    leave = counts.host[EXIT]
    ring = counts.ring_full(EXIT, offered(leave))
    on_link = leave["sent"] + ring
    egress = counts.egress(ALL, "UUT egress", leave, offered(leave), on_link, (EXIT, False))
    yield replace(egress, held_back=leave["held_back"])
    members = [counts.host[f"switch/to-snk{stream}"] for stream in streams]
    seen = [
        (ring, "ring full (dropped_out of out)"),
        *(counted(member, "dropped_queue", "queue full") for member in members),
    ]
    places = [(DOWNLINK, False), (DOWNLINK, True), *((f"switch/to-snk{stream}", False) for stream in streams)]
    yield counts.hop(ALL, "downlink", on_link, to_sink, seen, *places)


def _to_sink(counts: Counts, stream: int) -> int:
    """Frames that a switch sent on to a stream's sink."""
    name = f"switch/to-snk{stream}"
    return counts.host[name]["sent"] + counts.ring_full(name, offered(counts.host[name]))


def _sink(counts: Counts, stream: int, to_sink: int) -> Hop:
    name, sink = f"switch/to-snk{stream}", f"sink/snk{stream}"
    full = [
        (counts.ring_full(name, offered(counts.host[name])), f"ring full (dropped_out of to-snk{stream})")
    ]
    return counts.hop(stream, "sink", to_sink, counts.host[sink]["received"], full, (sink, False))
