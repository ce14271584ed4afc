"""Trails: the hooks along a frame's way in their order, and the stages between each two of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vtax.agent_api import Hook as HookName
from vtax.agent_api import StagesPoint, StagesTrail
from vtax.stages.hooks import ARRIVING, DUE, LEAVING, LINK, SOURCE, SUNK, TRANSMIT, Hook, NicKind

Direction = Literal["rx", "tx", "through"]
"""To a guest, from one, or from one interface to another."""


@dataclass(frozen=True)
class Place:
    """An interface by its name in a namespace, whose path it is."""

    name: str
    netns: str


@dataclass(frozen=True)
class Interface:
    """An interface on a way; of a veth pair also its far end, where that can be found."""

    kind: NicKind
    own: Place
    far: Place | None = None


@dataclass(frozen=True)
class Joint:
    """Where frames of a guest's NIC pass its host: the link's end, and the guest's own interface where it has one."""

    link: Interface
    nic: Interface | None


@dataclass(frozen=True)
class Arrives:
    """A part of a way: frames come from an interface; `from_source`: already from when test frames were due."""

    interface: Interface
    direction: Direction
    from_source: bool = False

    @property
    def hooks(self) -> Sequence[Hook]:
        """What sees them."""
        first, *rest = ARRIVING[self.interface.kind]
        if not self.from_source:
            return (first, *rest)
        sent = (Hook(DUE, far=True), Hook(TRANSMIT, SOURCE, far=True))
        return (*sent, replace(first, stage=LINK), *rest)


@dataclass(frozen=True)
class Leaves:
    """A part of a way: frames go to an interface; `into_sink`: a program at its link's other end ends them."""

    interface: Interface
    direction: Direction
    into_sink: bool = False

    @property
    def hooks(self) -> Sequence[Hook]:
        """What sees them."""
        return SUNK if self.into_sink else LEAVING[self.interface.kind]


@dataclass(frozen=True)
class Gap:
    """What is between two interfaces: the stage from the last hook of the one to the first of the other."""

    stage: str
    direction: Direction


Part = Arrives | Leaves | Gap
"""Of a way: interfaces, and gaps between them."""


@dataclass(frozen=True)
class Stage:
    """A difference between two hooks."""

    direction: Direction
    name: str

    @property
    def label(self) -> str:
        """Its name on a trail."""
        return f"{self.direction} {self.name}"


@dataclass(frozen=True)
class Point:
    """A hook at an interface."""

    hook: HookName
    place: Place

    def as_param(self) -> StagesPoint:
        """Return it as `stages.open` takes it."""
        return StagesPoint(hook=self.hook, netns=self.place.netns, interface=self.place.name)


@dataclass(frozen=True)
class Trail:
    """A way of frames. There is one stage fewer than points."""

    name: str
    direction: Direction
    points: tuple[Point, ...]
    stages: tuple[Stage, ...]

    def as_param(self) -> StagesTrail:
        """Return it as `stages.open` takes it."""
        return StagesTrail(
            name=self.name,
            points=[point.as_param() for point in self.points],
            stages=[stage.label for stage in self.stages],
        )


def trail(name: str, direction: Direction, parts: Sequence[Part]) -> Trail:
    """The trail along a way, whose interfaces have gaps between them. ValueError where fewer than two hooks see it."""
    points: list[Point] = []
    stages: list[Stage] = []
    gap: Gap | None = None
    for part in parts:
        if isinstance(part, Gap):
            gap = part
            continue
        for point, hook in _points(part):
            if points:
                between = hook.stage if gap is None else gap.stage
                assert between is not None  # noqa: S101 - only a table's first hook ends no stage, and a gap is before it
                stages.append(Stage(part.direction if gap is None else gap.direction, between))
            points.append(point)
            gap = None
    if not stages:
        raise ValueError(f"{name}: one hook alone shows no delay")
    return Trail(name, direction, tuple(points), tuple(stages))


def _points(part: Arrives | Leaves) -> Iterator[tuple[Point, Hook]]:
    interface = part.interface
    for hook in part.hooks:
        place = interface.far if hook.far else interface.own
        if place is not None:
            yield Point(hook.name, place), hook
