"""From the interfaces that a user names to the ways between them, in both directions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vtax.inputs import InputError, advised, suggestion
from vtax.stages import Arrives, Direction, Found, Gap, Interface, Leaves, NicKind, Part, Trail, trail
from vtax.stages.hooks import GUEST, STACK, SWITCH
from vtax.stages.meter import MOST_WAYS

TOWARDS_GUESTS = {"tap", "vhost", "veth"}
ENDS_OF_A_WAY = {2, 4}
"""Of four, the two in the middle are a guest's: the way goes into it and out of it again."""


@dataclass(frozen=True)
class Targets:
    """What is traced: the ways, the interfaces whose drops count, and what cannot be observed, a sentence each."""

    trails: tuple[Trail, ...]
    interfaces: tuple[str, ...]
    remarks: tuple[str, ...]


def targets(names: Sequence[str], found: Mapping[str, Found], is_vhost: Callable[[str], bool]) -> Targets:
    """The ways that the interfaces stand for.

    One alone: its own stages. Several in a row: the ways between the first and the last, bridges between them being
    named or not; four that are no bridges: into a guest and out of it. A bridge at an end stands for the host itself
    and for its other members. InputError for an interface that is not there, and for a row that is none.
    """
    return _Finder(found, is_vhost).find(names)


class _Finder:
    """Turns names into ways, and keeps what there is to remark."""

    def __init__(self, found: Mapping[str, Found], is_vhost: Callable[[str], bool]) -> None:
        self._found, self._is_vhost = found, is_vhost
        self._remarks: list[str] = []

    def find(self, names: Sequence[str]) -> Targets:
        if len(set(names)) < len(names):
            raise InputError("trace: an interface is named twice; name each once")
        row = [self._known(name) for name in names]
        for one, other in pairwise(row):
            self._check_joint(one, other)
        ends = [each for each in row if not each.is_bridge]
        if len(row) == 1:
            trails = self._own(row[0])
        elif len(ends) in ENDS_OF_A_WAY and not (row[0].is_bridge or row[-1].is_bridge):
            trails = self._both_ways(ends)
        elif len(ends) == 1 and len(row) == 2:
            trails = self._by_bridge(ends[0], next(each for each in row if each.is_bridge))
        else:
            raise InputError(
                f"trace: {', '.join(names)} are no way; allowed: one interface, two ends of a way with the bridges "
                "between them, an interface and its bridge, or four: into a guest and out of it"
            )
        seen = dict.fromkeys(point.place.name for each in trails for point in each.points)
        interfaces = [*names, *(name for name in seen if name in self._found and name not in names)]
        return Targets(tuple(trails), tuple(interfaces), tuple(self._remarks))

    def _known(self, name: str) -> Found:
        if name not in self._found:
            near = suggestion(name, self._found)
            there = f"there are: {', '.join(sorted(self._found)) or 'none'}; --netns names another namespace"
            raise InputError(f"trace: {advised(f'no interface {name} here', near, there)}")
        return self._found[name]

    def _check_joint(self, one: Found, other: Found) -> None:
        """Neighbours of whom one is a bridge have to be that bridge and a member of it."""
        if one.is_bridge and other.is_bridge:
            raise InputError(
                f"trace: {one.name} and {other.name} are both bridges; name what is between them"
            )
        bridge, member = (one, other) if one.is_bridge else (other, one)
        if bridge.is_bridge and member.master != bridge.index:
            of = self._bridge_of(member)
            belongs = f"a member of {of.name}" if of else "a member of none"
            raise InputError(
                f"trace: {member.name} is no member of {bridge.name}, but {belongs}; name that one"
            )

    def _bridge_of(self, member: Found) -> Found | None:
        return next((each for each in self._found.values() if each.index == member.master), None)

    def _own(self, one: Found) -> list[Trail]:
        own = self._interface(one)
        into = self._trail(f"to {one.name}", [Leaves(own, _leaving(own.kind))])
        out = self._trail(f"from {one.name}", [Arrives(own, _arriving(own.kind))])
        return [each for each in (into, out) if each is not None]

    def _by_bridge(self, member: Found, bridge: Found) -> list[Trail]:
        """Between a member and the host itself, and between it and other members: devices of the machine first."""
        others = [
            each for each in self._found.values() if each.master == bridge.index and each.name != member.name
        ]
        others.sort(key=lambda each: (each.nic_kind in TOWARDS_GUESTS, each.index))
        room = MOST_WAYS - 1
        if others[room:]:
            left = ", ".join(each.name for each in others[room:])
            self._remarks.append(
                f"{bridge.name} has more members than are followed at once: not to or from {left}"
            )
        return [each for other in (*others[:room], bridge) for each in self._both_ways([member, other])]

    def _both_ways(self, ends: Sequence[Found]) -> list[Trail]:
        trails = (self._way(ends), self._way(list(reversed(ends))))
        return [each for each in trails if each is not None]

    def _way(self, ends: Sequence[Found]) -> Trail | None:
        parts: list[Part] = []
        for number in range(0, len(ends), 2):
            comes, goes = ends[number], ends[number + 1]
            if parts:
                parts.append(Gap(GUEST, "through"))
            one, other = self._interface(comes), self._interface(goes)
            direction = _leaving(other.kind)
            arrives = Arrives(one, _arriving(one.kind))
            between = Gap(SWITCH if _same_bridge(comes, goes) else STACK, direction)
            parts += [arrives, between, Leaves(other, _leaving(other.kind))]
        return self._trail(f"{ends[0].name} to {ends[-1].name}", parts)

    def _trail(self, name: str, parts: Sequence[Part]) -> Trail | None:
        try:
            return trail(name, "through", parts)
        except ValueError as error:
            self._remarks.append(str(error))
            return None

    def _interface(self, one: Found) -> Interface:
        kind: NicKind = one.nic_kind
        if kind == "tap" and self._is_vhost(one.name):
            kind = "vhost"
            self._remark(f"{one.name} is served by vhost: when its guest hands a frame over is not seen")
        if kind == "veth" and one.far is None:
            self._remark(
                f"{one.name}'s other end is in a namespace that no name and no process leads to: not seen"
            )
        return one.interface(kind)

    def _remark(self, text: str) -> None:
        if text not in self._remarks:
            self._remarks.append(text)


def _same_bridge(one: Found, other: Found) -> bool:
    bridges = [each.index if each.is_bridge else each.master for each in (one, other)]
    return bridges[0] is not None and bridges[0] == bridges[1]


def _arriving(kind: NicKind) -> Direction:
    if kind == "bridge":
        return "through"  # the host's own way to the bridge, before that to a member
    return "tx" if kind in TOWARDS_GUESTS else "rx"


def _leaving(kind: NicKind) -> Direction:
    return "rx" if kind in TOWARDS_GUESTS else "tx"
