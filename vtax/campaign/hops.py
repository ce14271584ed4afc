"""Where a trial's frames were lost: received less forwarded at every hop of a stream's way.

Each hop forwards what the next one receives, so that the hops' drops add up to all that was lost. Counters are read
before and after a trial; they take in all its phases, and whatever else went the same way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vtax.campaign.trial import Measured
from vtax.platforms.egress_qdisc import DEFAULT
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.local import GUEST

Counters = dict[str, Any]
"""How much each counter of an interface grew in the trial; `kind` as `ip -d link` names it."""


@dataclass(frozen=True)
class Hop:
    """A place that frames pass. `reason` names the counter that saw them dropped, None where none did."""

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
    asked = str(measured.cell.platform_overrides.get("egress_qdisc", DEFAULT))
    discipline = None if asked == DEFAULT else asked
    return [
        hop
        for stream in measured.source["streams"]
        for hop in _way(stream["stream"], measured.departed(stream), host, guest, has_guest, discipline)
    ]


def _way(
    stream: int,
    departed: int,
    host: dict[str, Counters],
    guest: dict[str, Counters],
    has_guest: bool,
    discipline: str | None,
) -> Iterator[Hop]:
    source, entry = host[f"source/src{stream}"], host[f"uut/in{stream}"]
    leave, sink = host[f"uut/out{stream}"], host[f"sink/snk{stream}"]
    on_link = _tried(source)
    yield Hop(
        stream, "link", departed, on_link, _named(source, "dropped_queue", "queue full"), source["held_back"]
    )
    yield Hop(stream, "UUT ingress", on_link, entry["received"], _named(source, "dropped_out", "ring full"))
    there, back = (host.get(f"uut/{GUEST}p{2 * stream + side}") for side in (0, 1))
    if there is None or back is None:
        # The taps of a guest that died are gone with it.
        name = "guest" if has_guest else "UUT forwarding"
        yield Hop(stream, name, entry["received"], _offered(leave))
        yield from _egress(stream, "UUT egress", leave, _offered(leave), leave["sent"] + leave["dropped_out"])
    else:
        yield from _through_guest(stream, entry, (there, back), leave, guest, discipline)
    yield Hop(
        stream,
        "sink",
        leave["sent"] + leave["dropped_out"],
        sink["received"],
        _named(leave, "dropped_out", "ring full"),
    )


def _through_guest(
    stream: int,
    entry: Counters,
    ports: tuple[Counters, Counters],
    leave: Counters,
    guest: dict[str, Counters],
    discipline: str | None,
) -> Iterator[Hop]:
    there, back = ports
    yield Hop(stream, "bridge port in", entry["received"], _offered(there))
    if there["kind"] == "tun":
        yield from _egress(stream, "tap queue", there, _offered(there), there["sent"])
        given, ring_full = there["sent"], None
    else:
        given, ring_full = _offered(there), _named(there, "dropped_out", "ring full")
    addresses = StreamAddresses(stream)
    inside, out = guest.get(addresses.uut_in_mac), guest.get(addresses.uut_out_mac)
    if inside is None or out is None:
        yield Hop(stream, "guest", given, back["received"])
    else:
        lost_inside = _named(inside, "dropped_in", "no room in the ring")
        yield Hop(stream, "guest ring", given, inside["received"], ring_full or lost_inside)
        yield Hop(stream, "guest forwarding", inside["received"], _offered(out))
        yield from _egress(stream, "guest egress", out, _offered(out), back["received"], discipline)
    yield Hop(stream, "bridge port out", back["received"], _offered(leave))
    yield from _egress(stream, "UUT egress", leave, _offered(leave), leave["sent"] + leave["dropped_out"])


def _egress(
    stream: int,
    name: str,
    interface: Counters,
    received: int,
    forwarded: int,
    discipline: str | None = None,
) -> Iterator[Hop]:
    """An interface's queue, with a `discipline` that was asked for, and its driver."""
    meaning = f"dropped by {discipline}" if discipline else "queue full"
    queue = _named(interface, "dropped_queue", meaning)
    yield Hop(stream, name, received, forwarded, queue or _named(interface, "dropped_out", "no room"))


def _tried(interface: Counters) -> int:
    """Frames that an interface's queue gave to the driver."""
    return int(interface["sent"] + interface["dropped_out"])


def _offered(interface: Counters) -> int:
    """Frames that an interface was given to send."""
    return int(_tried(interface) + interface["dropped_queue"])


def _named(interface: Counters, counter: str, meaning: str) -> str | None:
    return f"{meaning} ({counter} of {interface['name']})" if interface[counter] else None


def _growth(before: Counters, after: Counters) -> Counters:
    return {
        key: value - before[key] if isinstance(value, int) and not isinstance(value, bool) else value
        for key, value in after.items()
    }


def _guest_growth(measured: Measured) -> dict[str, Counters]:
    """By MAC, what the guest's own interfaces counted; empty for a guest that no longer tells."""
    if measured.guest is None or any(state["condition"] != "answers" for state in measured.guest):
        return {}
    before, after = (
        {nic["mac"]: {**nic, "name": f"the guest's {nic['interface']}"} for nic in state["interfaces"]}
        for state in measured.guest
    )
    return {mac: _growth(before[mac], after[mac]) for mac in after if mac in before}
