"""The hops of streams that have links of their own: every interface on a stream's way is its alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import GUEST
from vtax.trial.frames.measured import Measured
from vtax.workloads.forwarding.measure.counts import Counts, Hop, counted, offered


@dataclass(frozen=True)
class DedicatedWay:
    """A stream's source -> UUT -> its sink, through one guest."""

    measured: Measured

    def entry(self, stream: int) -> str:
        """Where the source's link of a stream ends."""
        return f"uut/in{stream}"

    @property
    def uut_entries(self) -> list[str]:
        """Where frames enter the UUT."""
        return [self.entry(stream.stream) for stream in self.measured.source.streams]

    def hops(self, counts: Counts) -> Iterator[Hop]:
        """Those of every stream, in the order of its way."""
        for stream in self.measured.source.streams:
            departed, refused = self.measured.departed(stream), self.measured.refused(stream)
            ends = (stream.host, self.measured.sink.host_of(stream.stream))
            waits = self.measured.waits(stream)
            yield from self._stream(counts, stream.stream, ends, departed, refused, waits)

    def _stream(
        self, counts: Counts, stream: int, ends: tuple[str, str], departed: int, refused: int, waits: int
    ) -> Iterator[Hop]:
        host, (sender, receiver) = counts.host, ends
        names = [f"{sender}/src{stream}", f"uut/in{stream}", f"uut/out{stream}", f"{receiver}/snk{stream}"]
        source, entry, leave, sink = (host[name] for name in names)
        enters, arrived, leaves = (names[1], False), (names[1], True), (names[2], False)
        ring = counts.ring_full(names[0], departed, refused)
        full = "dropped_out" if source["dropped_out"] else "refused probes"

        on_link = source["sent"] + ring
        queue = counted(source, "dropped_queue", "queue full")
        link = counts.hop(stream, "link", departed, on_link, [queue], (names[0], False))
        yield replace(link, held_back=source["held_back"] + waits)
        seen = [(ring, f"ring full ({full} of src{stream})")]
        yield counts.hop(stream, "UUT ingress", on_link, entry["received"], seen, enters)
        into, out_of = (f"uut/{GUEST}p{2 * stream + side}" for side in (0, 1))
        addresses, switch = StreamAddresses(stream), self.measured.cell.testbed.switch
        macs = (addresses.uut_in_mac, addresses.uut_out_mac)
        if into in host and out_of in host:
            way_in, way_out = (arrived, (into, False)), ((out_of, True), leaves)
            no_room = [counted(entry, "dropped_port", "no room in the switch")]
            given = offered(host[into])
            yield counts.hop(stream, f"{switch} port in", entry["received"], given, no_room, *way_in)
            yield from counts.through_guest(stream, GUEST, into, out_of, macs)
            came = host[out_of]["received"]
            no_room = [counted(host[out_of], "dropped_port", "no room in the switch")]
            yield counts.hop(stream, f"{switch} port out", came, offered(leave), no_room, *way_out)
        elif switch == "macvtap" and all(mac in counts.guest for mac in macs):
            yield from counts.on_top(stream, GUEST, names[1], names[2], macs)
        else:
            name = "guest" if into in counts.gone else "UUT forwarding"
            yield counts.hop(stream, name, entry["received"], offered(leave), [], arrived, leaves)
        ring = counts.ring_full(names[2], offered(leave))
        to_sink = leave["sent"] + ring
        yield counts.egress(stream, "UUT egress", leave, offered(leave), to_sink, leaves)
        seen = [(ring, f"ring full (dropped_out of out{stream})")]
        yield counts.hop(stream, "sink", to_sink, sink["received"], seen, (names[3], False))
