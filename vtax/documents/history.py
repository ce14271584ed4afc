"""The document of `vtax history`."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import ComparedEstimate, Count, Document, Moment, Part
from vtax.documents.comparison import Tolerance


class Campaign(Part):
    """A campaign."""

    campaign: str
    """Directory of the campaign."""
    created_at: Moment
    """When the campaign began."""


class CampaignMean(ComparedEstimate, Campaign):
    """The mean of one campaign, in the quantity's unit."""


class LevelChange(Part):
    """A lasting change of a series."""

    since: Moment
    """When the first campaign at the new level began."""
    position: Count
    """Position of that campaign among the series' points, from 0."""
    change: ComparedEstimate
    """Of the means after it against those before it: 0.1 is 10% more, or with `in_points` 10 percentage points."""
    also_changed: list[str]
    """Bounds of the means, and facts of kernel and programs that changed there, a sentence each."""


class Series(Part):
    """A metric of a cell over the campaigns."""

    cell: str
    """The cell: every factor and its level."""
    uut_context: str
    """Whose CPU context forwarded: `own` (the UUT's), `sender`, or `unknown`."""
    metric: str
    """Name of the metric."""
    quantity: str
    """The quantity of the means, whose unit ends its name."""
    in_points: bool
    """True where a change is a difference of two ratios, and no relative change."""
    points: list[CampaignMean]
    """The campaigns' means, the earliest first."""
    level_changes: list[LevelChange] | None
    """Lasting changes; null where there are too few campaigns to find any."""


class Experiment(Part):
    """Campaigns of one scenario with the same settings on the same machine."""

    name: str
    """The scenario's name."""
    campaigns: list[str]
    """Directories of the campaigns, the earliest first."""
    series: list[Series]
    """Every metric of every cell that two campaigns or more measured."""


class History(Document):
    """Metrics of many campaigns over time, with lasting changes (docs/compare.md)."""

    format_version: Literal[2] = 2
    """Version of the document's form."""
    directory: str
    """Directory below which the campaigns lie."""
    within: Tolerance
    """Tolerance: relative changes within it count as none."""
    not_read: list[str]
    """Results that could not be read, in full or in part, a sentence each."""
    experiments: list[Experiment]
    """The experiments, the one with most campaigns first."""
