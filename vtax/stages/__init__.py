"""Delay stages: where on a host a frame is seen on its way, and the differences between those moments.

Which hooks see it is data (`hooks`), a table a kind of interface; a way through several interfaces is a trail
(`trails`); the agent's `stages.*` follow frames along trails (`meter`). It knows no testbed and no campaign.
"""

from vtax.stages.hooks import NicKind
from vtax.stages.interfaces import Found, interfaces_of
from vtax.stages.meter import Event, Reading, StageMeter, StageTimes, TrailReading
from vtax.stages.trails import (
    Arrives,
    Direction,
    Gap,
    Interface,
    Joint,
    Leaves,
    Part,
    Place,
    Stage,
    Trail,
    trail,
)

__all__ = [
    "Arrives",
    "Direction",
    "Event",
    "Found",
    "Gap",
    "Interface",
    "Joint",
    "Leaves",
    "NicKind",
    "Part",
    "Place",
    "Reading",
    "Stage",
    "StageMeter",
    "StageTimes",
    "Trail",
    "TrailReading",
    "interfaces_of",
    "trail",
]
