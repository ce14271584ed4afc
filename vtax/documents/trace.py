"""The document of `vtax trace`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vtax.documents.base import Count, Document, Nanoseconds, Part, Seconds


class Delays(Part):
    """Delays of the packets that passed every hook of a path, in ns."""

    count: Count
    """Packets."""
    min_ns: Nanoseconds | None
    """Least delay; null without packets."""
    mean_ns: Nanoseconds | None
    """Mean delay; null without packets."""
    p50_ns: Nanoseconds | None
    """Median delay; null below 20 packets."""
    p90_ns: Nanoseconds | None
    """90% quantile of delay; null below 100 packets."""
    p99_ns: Nanoseconds | None
    """99% quantile of delay; null below 1,000 packets."""
    max_ns: Nanoseconds | None
    """Greatest delay; null without packets."""


class StageDelays(Delays):
    """Delays of one stage, in ns."""

    stage: str
    """Direction and name of the stage (docs/stages.md)."""


class Hook(Part):
    """A hook of a path."""

    hook: str
    """Name of the hook (docs/stages.md)."""
    interface: str
    """The interface that packets are at."""
    packets: Count
    """Followed packets that were seen there."""


class Path(Part):
    """A path of packets through the interfaces, in one direction."""

    name: str
    """First and last interface, as in `tap0 to eth0`."""
    hooks: list[Hook]
    """Its hooks, in the order in which packets pass them."""
    stages: list[StageDelays]
    """Its stages, in order; their means add up to that of `total`."""
    total: Delays
    """Delays over the whole path."""


class Drop(Part):
    """Packets that the kernel dropped at an interface, followed or not."""

    interface: str
    """The interface."""
    arrived: bool
    """True where they were dropped after they arrived there, false where they were to leave by it."""
    reason: str
    """The kernel's drop reason."""
    packets: Count
    """Packets dropped."""


class Trace(Document):
    """Delay by stage on a path that exists (docs/stages.md)."""

    format_version: Literal[1] = 1
    """Version of the document's form."""
    sample_every: Annotated[int, Field(ge=1)]
    """One packet in this many was followed."""
    elapsed_s: Seconds
    """Duration of the trace, in s."""
    followed: Count
    """Packets that were followed."""
    strayed: Count
    """Followed packets that passed no whole path: dropped, gone elsewhere, or still on their way."""
    lost_events: Count
    """Followed packets whose records the trace lost."""
    paths: list[Path]
    """The paths, in both directions."""
    drops: list[Drop]
    """Packets that the kernel dropped at the interfaces."""
    hook_ns: dict[str, Nanoseconds | None]
    """Mean time that the trace took at each hook, in ns; null for a hook that saw no packet."""
    not_observed: list[str]
    """Sentences on anything that could not be observed."""
