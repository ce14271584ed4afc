"""The paths of a testbed's packets past its hosts, as trails of hooks: what a traced trial follows packets along."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vtax.stages import Arrives, Gap, Joint, Leaves, NicKind, Part, Trail, trail
from vtax.stages.hooks import GUEST, STACK, SWITCH
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.host import Host, PortNic
from vtax.testbed.testbed import Testbed


@dataclass(frozen=True)
class TracePath:
    """A trail with whose packets it is of: `guest` is None where the host has none."""

    host: str
    guest: int | None
    trail: Trail


def joint_of(guest: PlacedGuest, number: int, kind: NicKind) -> Joint:
    """Where frames of a guest's NIC pass its host, which stands."""
    nic = guest.nics[number]
    return guest.host.joint(nic.port, nic.mac, kind)


def end_host_trace_paths(testbed: Testbed, kind: NicKind) -> list[TracePath]:
    """To guests and from them, on each guest's host; from each to the other where two have no link between them.

    `kind` is what the platform's NICs are. Guests of a platform that has none are their host.
    """
    for peer, other in testbed.network.ends:
        if isinstance(peer, str) and isinstance(other, str):
            pair = testbed.guest(other), testbed.guest(peer)
            if pair[0].host is pair[1].host:
                return list(_inside(pair, kind))
    guests = _with_nics_of_their_own(testbed.guests)
    return [path for number, guest in enumerate(guests) for path in _ends(guest, number, kind)]


def router_trace_paths(testbed: Testbed, kind: NicKind) -> list[TracePath]:
    """From each stream's source into a host, through a guest and out to the sink; a guest's NICs are in pairs."""
    network, guests = testbed.network, _with_nics_of_their_own(testbed.guests)
    last = {network.beyond(stream.sink, stream.sink_interface).host for stream in network.streams}
    into_sink = last == {testbed.uut.name}
    return [
        path
        for number, guest in enumerate(guests)
        for path in _through(guest, number, kind, into_sink=into_sink)
    ]


def _with_nics_of_their_own(guests: Sequence[PlacedGuest]) -> list[PlacedGuest]:
    """Return the first guest of each NIC: those of the bare host behind one link have one for all."""
    first: dict[tuple[Host, PortNic], PlacedGuest] = {}
    for guest in guests:
        first.setdefault((guest.host, guest.nics[0]), guest)
    return list(first.values())


def _ends(guest: PlacedGuest, number: int, kind: NicKind) -> Iterator[TracePath]:
    joint, host = joint_of(guest, 0, kind), guest.host.name
    whose = f"{host} {guest.name}"
    link, nic = joint.link, joint.nic
    if nic is None:
        yield TracePath(host, None, trail(f"{whose} rx", "rx", [Arrives(link, "rx")]))
        yield TracePath(host, None, trail(f"{whose} tx", "tx", [Leaves(link, "tx")]))
        return
    to: list[Part] = [Arrives(link, "rx"), Gap(SWITCH, "rx"), Leaves(nic, "rx")]
    out: list[Part] = [Arrives(nic, "tx"), Gap(SWITCH, "tx"), Leaves(link, "tx")]
    yield TracePath(host, number, trail(f"{whose} rx", "rx", to))
    yield TracePath(host, number, trail(f"{whose} tx", "tx", out))


def _inside(guests: Sequence[PlacedGuest], kind: NicKind) -> Iterator[TracePath]:
    nics = [joint_of(guest, 0, kind).nic for guest in guests]
    for number, other in ((0, 1), (1, 0)):
        own, far = nics[number], nics[other]
        assert own is not None and far is not None  # noqa: S101 - a bare host has no two guests
        parts: list[Part] = [Arrives(own, "tx"), Gap(SWITCH, "tx"), Leaves(far, "rx")]
        names = [guests[each].name for each in (number, other)]
        yield TracePath(guests[number].host.name, number, trail(" to ".join(names), "through", parts))


def _through(guest: PlacedGuest, number: int, kind: NicKind, *, into_sink: bool) -> Iterator[TracePath]:
    for stream in range(len(guest.nics) // 2):
        to, out = (joint_of(guest, 2 * stream + side, kind) for side in (0, 1))
        parts = [
            Arrives(to.link, "rx", from_source=True),
            *_inner(to, out),
            Leaves(out.link, "tx", into_sink),
        ]
        whose = None if to.nic is None else number
        yield TracePath(guest.host.name, whose, trail(f"{guest.name} stream {stream}", "through", parts))


def _inner(to: Joint, out: Joint) -> Sequence[Part]:
    if to.nic is None or out.nic is None:
        return [Gap(STACK, "through")]
    return [
        Gap(SWITCH, "rx"),
        Leaves(to.nic, "rx"),
        Gap(GUEST, "through"),
        Arrives(out.nic, "tx"),
        Gap(SWITCH, "tx"),
    ]
