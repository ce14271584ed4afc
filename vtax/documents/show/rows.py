"""What rows of the document have in common: their place, by platform, setting and level."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from vtax.documents.base import Count, Part

Setting = dict[str, str | int | float | dict[str, str] | None]
"""Levels that a table holds fixed, by the columns of `trials`; `further` has the other factors by name."""
Level = dict[str, int | float | None]
"""The level by which cells of one setting differ, by its column; empty where the setting says it all."""
Mbps = Annotated[float, Field(ge=0)]
Shape = dict[str, JsonValue]


class Placed(Part):
    """A row of one platform in one setting."""

    platform: str
    """Platform preset."""
    setting: Setting
    """Levels that the table holds fixed."""


class Keyed(Part):
    """A row of one cell."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    setting: Setting
    """Levels that the table holds fixed."""


class AtLoad(Keyed):
    """A row of one cell that is a load of frames."""

    intended_mbps: Mbps | None
    """Intended load of each stream at layer 1; null for the flood."""
    uut_context: str
    """Whose thread the unit under test ran in."""


class WithGuests(Keyed):
    """A row of one cell with so many guests."""

    guests: Count
    """Guests that are measured."""
