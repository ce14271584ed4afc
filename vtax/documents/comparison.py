"""The document of `vtax compare`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vtax.documents.base import ComparedEstimate, Count, Document, Part, Share

ChangeVerdict = Literal["worse", "better", "not enough data", "same"]
RuleVerdict = Literal["broken", "undecided", "passed"]
Side = Literal["A", "B"]
Unit = Literal["repetition", "block", "quad"]
Tolerance = Annotated[float, Field(ge=0, lt=1)]


class ConditionDifference(Part):
    """A fact in which the campaigns differ, and which `--allow` let differ."""

    condition: str
    """Name of the condition, as `--allow` takes it."""
    fact: str
    """Name of the fact."""
    before: str
    """The fact in A."""
    after: str
    """The fact in B."""


class CampaignEffect(Part):
    """Deviation that all repetitions of a campaign share."""

    deviation: Annotated[float, Field(ge=0)]
    """Standard deviation of one campaign's mean: 0.1 is 10%, or 10 percentage points with `in_points`."""
    campaigns: Count | None
    """Number of campaigns that it was estimated from; null where it is assumed."""


class EarlierCampaigns(Part):
    """Campaigns that the campaign effect is taken from."""

    directory: str
    """Directory below which they lie."""
    campaigns: Count
    """Number of campaigns of the experiment there, without A, B and copies."""
    not_read: Count
    """Number of results there that could not be read."""


class CellChange(Part):
    """The change of a metric in a cell."""

    cell: str
    """The cell: every factor and its level."""
    uut_context: str
    """Whose CPU context forwarded: `own` (the UUT's), `sender`, or `unknown`."""
    metric: str
    """Name of the metric, as `--fail-on` takes it."""
    quantity: str
    """The quantity of `before` and `after`, whose unit ends its name."""
    in_points: bool
    """True where `change` is a difference of two ratios, and no relative change."""
    before: ComparedEstimate | None
    """Mean of A, in the quantity's unit; null where A has no value."""
    after: ComparedEstimate | None
    """Mean of B, in the quantity's unit; null where B has no value."""
    change: ComparedEstimate | None
    """From A to B: 0.1 is 10% more, or 10 percentage points with `in_points`; null where it is withheld."""
    p_value: Share | None
    """Of the hypothesis that the change is within the tolerance; null where it cannot be tested."""
    verdict: ChangeVerdict
    """The verdict on the change."""
    note: str
    """Reason why there is not enough data, or the marks of the trials; empty where there is nothing to add."""
    campaign_effect: CampaignEffect | None
    """Campaign effect that `change` and `p_value` allow for; null of levels of one campaign, or without a change."""


class RuleOnCell(Part):
    """A rule of `--fail-on` in a cell."""

    rule: str
    """The rule as it was given."""
    cell: str
    """The cell: every factor and its level."""
    uut_context: str
    """Whose CPU context forwarded: `own` (the UUT's), `sender`, or `unknown`."""
    metric: str
    """Name of the metric."""
    change: ComparedEstimate | None
    """The change that was judged; null where it is withheld, or nothing was measured in common."""
    smallest_change: float | None
    """The least change that would break the rule with the probability `power`; null where none would."""
    power: Share
    """Probability of finding `smallest_change`; in `undecided_rules` of deciding with `more_repetitions` too."""


class UndecidedRule(RuleOnCell):
    """A rule that the trials of a cell cannot decide."""

    reason: str
    """Reason why it is undecided."""
    more_repetitions: Count | None
    """About how many more repetitions of each side, or blocks or quads, would decide; null where none would."""


class Comparison(Document):
    """Changes from one campaign to another, or between two levels of a factor in one (docs/compare.md)."""

    format_version: Literal[3] = 3
    """Version of the document's form."""
    a: str
    """Directory of A, the reference; with its level where two levels are compared."""
    b: str
    """Directory of B, which is compared with it; with its level where two levels are compared."""
    unit: Unit
    """Unit that `n` counts: two levels of one campaign are compared within blocks, or within quads by turns."""
    earlier: EarlierCampaigns | None
    """Campaigns of `--earlier`; null without, when the campaign effect is assumed, or of levels of one campaign."""
    within: Tolerance
    """Tolerance: relative changes within it count as none."""
    verdicts: dict[ChangeVerdict, Count]
    """Changes by verdict."""
    differences: list[ConditionDifference]
    """Facts in which the campaigns differ, and which `--allow` let differ."""
    notes: list[str]
    """Differences in programs and platforms, and levels that are one file, a sentence each."""
    damaged: list[str]
    """Parts of the results that could not be read, a sentence each."""
    only_in_a: list[str]
    """Cells without a usable trial in B."""
    only_in_b: list[str]
    """Cells without a usable trial in A."""
    changes: list[CellChange]
    """Every metric of every cell that both campaigns measured."""
    without_usable_trials: list[Side]
    """Campaigns without a single usable trial."""
    rules: dict[RuleVerdict, Count]
    """Cells by the verdict of a rule, over all rules."""
    broken_rules: list[RuleOnCell]
    """Rules that a cell breaks."""
    passed_rules: list[RuleOnCell]
    """Rules that a cell passes."""
    undecided_rules: list[UndecidedRule]
    """Rules that the trials of a cell cannot decide."""
