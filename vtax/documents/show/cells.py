"""Cells with their metrics, and what they have more than their references."""

from __future__ import annotations

from vtax.documents.base import Count, Estimate, Part, Share
from vtax.documents.show.rows import Level, Setting


class Cell(Part):
    """A cell with its metrics."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    uut_context: str
    """Whose thread the unit under test ran in: own or sender; unknown where it was not recorded."""
    setting: Setting
    """Levels that tables hold fixed."""
    level: Level
    """Level by which cells of the setting differ."""
    recorded: Count
    """Recorded trials."""
    suspect: Count
    """Suspect trials among them."""
    invalid: Count
    """Invalid trials among them."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""
    marks: dict[str, Count]
    """Usable trials with each mark."""
    metrics: dict[str, Estimate | None]
    """Metrics by name, whose unit ends it; null where no trial has one."""


class Added(Part):
    """Difference of a metric between a cell and its reference."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    reference: str
    """Platform that it is compared with."""
    uut_context: str
    """Whose thread the unit under test ran in."""
    setting: Setting
    """Levels that the table holds fixed."""
    level: Level
    """Level by which cells of the setting differ."""
    added: Estimate
    """Difference of the means, paired within blocks, in the metric's unit."""
