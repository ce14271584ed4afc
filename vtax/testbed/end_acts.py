"""What a host can be asked to do at a link's end of its own (Host.set_end): acts of vtax.testbed.link as values."""

from msgspec import Struct

from vtax.testbed.link import (
    LinkEnd,
    complete_frames,
    set_address,
    shape,
    shape_host,
    share,
    switch_to,
    tag_inside,
)
from vtax.testbed.settings import LocalSettings


class SetAddress(Struct, frozen=True, tag=True):
    """Give it its MAC address, where the interface was made elsewhere."""

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        set_address(end)


class CompleteFrames(Struct, frozen=True, tag=True):
    """Have every frame leave it in one piece and with its checksum."""

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        complete_frames(end)


class TagInside(Struct, frozen=True, tag=True):
    """Have tagged frames leave it with the tag inside."""

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        tag_inside(end)


class Shape(Struct, frozen=True, tag=True):
    """Give what it sends the link's rate."""

    link_mbps: float | None
    flow_control: bool

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        shape(end, self.link_mbps, self.flow_control)


def paced_by_source(settings: LocalSettings) -> Shape:
    """Return the act at an end whose sender keeps to the link's rate by itself, as sources of frames do."""
    return Shape(None, settings.flow_control)


class ShapeHost(Struct, frozen=True, tag=True):
    """The same for a host that sends streams of its own."""

    link_mbps: float | None
    flow_control: bool
    mtu: int
    burst_frames: int | None = None

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        shape_host(end, self.link_mbps, self.flow_control, self.mtu, self.burst_frames)


class Share(Struct, frozen=True, tag=True):
    """The same for a switch's end that senders of these MACs take turns at."""

    link_mbps: float | None
    flow_control: bool
    macs: list[str]
    mtu: int

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        share(end, self.link_mbps, self.flow_control, self.macs, self.mtu)


class SwitchTo(Struct, frozen=True, tag=True):
    """Have what arrives for these MACs leave by another interface."""

    interface: str
    macs: list[str]

    def apply(self, end: LinkEnd) -> None:
        """Carry it out."""
        switch_to(end, self.interface, self.macs)


EndAct = SetAddress | CompleteFrames | TagInside | Shape | ShapeHost | Share | SwitchTo
