"""Each cell's metrics over the campaigns of an experiment, and where their level changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from vtax.model.bound import Bound, Limit, bounded_sides, main_limit
from vtax.model.estimate import Estimate, estimate
from vtax.model.metric import Metric
from vtax.statistics import (
    Change,
    ChangePoints,
    absolute_change,
    change_points,
    discoveries,
    relative_change,
)
from vtax.views.compare.campaigns import Campaign, Experiment
from vtax.views.metrics import Key, step_of_change


@dataclass(frozen=True)
class Point:
    """A campaign's mean over its repetitions, the width of their steps, and what bounded it in the platform's stead."""

    campaign: Campaign
    value: Estimate
    step: float
    limit: Limit | None = None


@dataclass(frozen=True)
class Level:
    """A change of level: from which campaign on, by how much, and what else changed there.

    `change` is of the means of the campaigns before and after it, up to the next change, and its `n` theirs;
    relative, or of metrics in points a difference. `with_it` begins with what bounded a side of it, where anything did.
    """

    place: int
    since: datetime
    change: Estimate
    with_it: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """A metric of a cell over time; `levels` is None where there are too few campaigns to tell."""

    cell: str
    uut_context: str
    platform: str
    metric: Metric
    points: tuple[Point, ...]
    levels: tuple[Level, ...] | None


def series_of(experiment: Experiment, within: float) -> list[Series]:
    """Every series of which two campaigns or more have a value.

    Changes are those of series in which there are any, at most 5% of these by chance (Benjamini and Hochberg 1995),
    that are larger than the tolerance, `within` or the metric's own, by more than a step of the values.
    """
    found = [
        (key, metric, points)
        for metric in experiment.campaigns[-1].metrics
        for key in sorted({key for campaign in experiment.campaigns for key in campaign.measured})
        if len(points := tuple(_points(experiment, key, metric))) > 1
    ]
    changed = [change_points(_level_values(metric, points)) for _, metric, points in found]
    rejected = iter(discoveries([change.p_value for change in changed if change is not None]))
    return [
        Series(
            cell=key[0],
            uut_context=key[1],
            platform=points[-1].campaign.measured[key].platform,
            metric=metric,
            points=points,
            levels=None if change is None else _levels(metric, points, change, next(rejected), within),
        )
        for (key, metric, points), change in zip(found, changed, strict=True)
    ]


def _points(experiment: Experiment, key: Key, metric: Metric) -> Iterator[Point]:
    """Of several loads together those of campaigns with the latest one's loads."""
    every = [campaign.measured.get(key) for campaign in experiment.campaigns]
    loads = [measured.loads for measured in every if measured][-1]
    for campaign, measured in zip(experiment.campaigns, every, strict=True):
        if measured is None or measured.lacks(metric) or measured.loads != loads:
            continue
        if value := measured.mean(metric, adaptive=campaign.adaptive):
            yield Point(campaign, value, measured.step(metric), measured.limit_of(metric))


def _level_values(metric: Metric, points: Sequence[Point]) -> list[float]:
    values = [point.value.value for point in points]
    return [math.log(value) for value in values] if not metric.points and min(values) > 0 else values


def _levels(
    metric: Metric, points: Sequence[Point], found: ChangePoints, discovered: bool, within: float
) -> tuple[Level, ...]:
    if not discovered:
        return ()
    bounds = [0, *found.places, len(points)]
    levels = []
    for start, place, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        before, after = points[start:place], points[place:end]
        change = _change(metric, before, after)
        tolerance = within if metric.tolerance is None else metric.tolerance
        if change is None or abs(change.interval.mean) - _step(metric, before, after) <= tolerance:
            continue
        limits = [main_limit(point.limit for point in side) for side in (before, after)]
        read = Bound.of([limits[1]]).over(Bound.of([limits[0]]))
        bounded = bounded_sides(zip(("before", "after"), limits, strict=True))
        levels.append(
            Level(
                place=place,
                since=after[0].campaign.created_at,
                change=estimate(change.interval, 0.0).read_as(read),
                with_it=(
                    *([bounded] if bounded else ()),
                    *_changed_facts(before[-1].campaign, after[0].campaign),
                ),
            )
        )
    return tuple(levels)


def _change(metric: Metric, before: Sequence[Point], after: Sequence[Point]) -> Change | None:
    one, other = ([point.value.value for point in side] for side in (before, after))
    steps = [
        (max(point.step for point in side), fmean(values)) for side, values in ((before, one), (after, other))
    ]
    change = absolute_change if metric.points else relative_change
    return change(one, other, resolution=step_of_change(metric, steps))


def _step(metric: Metric, before: Sequence[Point], after: Sequence[Point]) -> float:
    """The largest step of their values, as a change of them is shown."""
    step = max(point.step for point in (*before, *after))
    return step if metric.points else step / fmean(point.value.value for point in before)


def _changed_facts(before: Campaign, after: Campaign) -> tuple[str, ...]:
    old, new = before.changing, after.changing
    return tuple(
        f"{what}: {old[what]} to {new[what]}" for what in old if what in new and old[what] != new[what]
    )
