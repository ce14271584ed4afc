"""How far two campaigns lie apart though nothing changed, by cell and metric: from earlier campaigns, or assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from vtax.inputs import InputError
from vtax.model.bound import Bound
from vtax.model.levels import Level
from vtax.model.metric import Metric
from vtax.statistics import (
    ASSUMED_DEVIATION,
    LEAST_CAMPAIGNS,
    CampaignScatter,
    EarlierMeans,
    assumed_scatter,
    earlier_means,
)
from vtax.views.compare.campaigns import FIXED, find_campaigns
from vtax.views.compare.side import Side
from vtax.views.metrics import Key, MeasuredCell

Place = tuple[Key, str]
"""A cell in its context, and a metric's name."""

ASSUMED = f"a standard deviation of {100 * ASSUMED_DEVIATION:g}% is assumed"
WAYS_OUT = (
    f"--earlier DIR takes it from {LEAST_CAMPAIGNS} campaigns or more, and vtax ab SCENARIO --factor platform=A,B "
    "measures both sides by turns"
)
UNDECIDED_BY_IT = "the campaign effect is assumed"


@dataclass(frozen=True)
class CampaignEffect:
    """What is known of how far campaigns lie apart.

    `directory` is where earlier campaigns were read, None where it was not asked; `campaigns` counts those of the
    experiment there, and `unread` what was not read. `means` has those cells and metrics of which there are enough.
    """

    directory: Path | None = None
    campaigns: int = 0
    unread: int = 0
    means: Mapping[Place, EarlierMeans] = field(default_factory=dict)

    def scatter(self, before: MeasuredCell, after: MeasuredCell, metric: Metric) -> CampaignScatter:
        """Return how far the means of two campaigns lie apart though nothing changed, on the scale of their change."""
        values = [side.values_of(metric) for side in (before, after)]
        known = self.means.get(((before.cell, before.uut_context), metric.name))
        if known is not None and all(values):
            return known.scatter(*map(len, values))
        means = [fmean(each) for each in values if each]
        if metric.points and metric.tolerance is not None and max(means) <= metric.tolerance:
            return assumed_scatter(metric.tolerance, metric.tolerance)
        # What a campaign takes of a path's capacity is missing from the share that arrives, the rest of what is lost.
        levels = [1 - mean for mean in means] if metric.points else [1.0, 1.0]
        return assumed_scatter(*(ASSUMED_DEVIATION * level for level in levels))


def read_earlier(directory: Path, a: Side, b: Side) -> CampaignEffect:
    """Return what the campaigns of A's experiment below `directory` tell, without A, B and copies.

    InputError where no result is below it that can be read, or none of the experiment but A and B.
    """
    found = find_campaigns(directory)
    campaigns = [
        campaign
        for experiment in found.experiments
        for campaign in experiment.campaigns
        if _conditions(campaign) == _conditions(a) and campaign.identity not in (a.identity, b.identity)
    ]
    if not campaigns:
        raise InputError(
            f"--earlier: {directory} has no other campaign with the machine, accelerator and settings of "
            f"{a.directory}; list its campaigns: vtax history {directory}"
        )
    means = {
        (key, metric.name): known
        for key, cell in a.measured.items()
        for metric in a.metrics
        if (
            known := earlier_means([*_values(campaigns, key, cell.loads, metric)], relative=not metric.points)
        )
    }
    return CampaignEffect(directory, len(campaigns), len(found.unread), means)


def _conditions(side: Side) -> list[Mapping[str, str]]:
    return [side.facts[condition] for condition in FIXED]


def _values(
    campaigns: Iterable[Side], key: Key, loads: frozenset[Level], metric: Metric
) -> Iterable[Sequence[float]]:
    """The values of each campaign that has exact ones: where something else bounded them, they tell of that.

    Of several loads together only those of the same `loads`.
    """
    for campaign in campaigns:
        measured = campaign.measured.get(key)
        if (
            measured is None
            or measured.loads != loads
            or measured.lacks(metric)
            or measured.bound(metric) is not Bound.EXACT
        ):
            continue
        if values := measured.values_of(metric):
            yield values


def effect_line(effect: CampaignEffect, taken: Collection[CampaignScatter | None]) -> str:
    """Return where the campaign effect of these changes is from, in a line."""
    assumed = sum(scatter is not None and scatter.is_assumed for scatter in taken)
    if effect.directory is None:
        return f"campaign effect: {ASSUMED}; {WAYS_OUT}"
    measured = sum(scatter is not None for scatter in taken) - assumed
    unread = f" ({effect.unread} results not read)" if effect.unread else ""
    source = f"{effect.campaigns} campaigns below {effect.directory}{unread}"
    if not assumed:
        return f"campaign effect: from {source}"
    if not measured:
        return f"campaign effect: {source} do not suffice: {ASSUMED}; {WAYS_OUT}"
    few = f"of {assumed} changes fewer than {LEAST_CAMPAIGNS} of them have values, and {ASSUMED}"
    return f"campaign effect: of {measured} changes from {source}; {few}"
