"""A history as the document of `vtax history`."""

from __future__ import annotations

from vtax.documents import history as documents
from vtax.views.estimate_document import BOUNDS, compared_document, finite
from vtax.views.history import Chapter, History
from vtax.views.history.series import Level, Point, Series


def history_document(history: History) -> documents.History:
    """Return every series, with the changes of its level."""
    return documents.History(
        directory=str(history.directory),
        within=history.within,
        not_read=history.unread,
        experiments=[_experiment(chapter) for chapter in history.chapters],
    )


def _experiment(chapter: Chapter) -> documents.Experiment:
    return documents.Experiment(
        name=chapter.experiment.name,
        campaigns=[str(campaign.directory) for campaign in chapter.experiment.campaigns],
        series=[_series(series) for series in chapter.series],
    )


def _series(series: Series) -> documents.Series:
    levels = series.levels
    return documents.Series(
        cell=series.cell,
        uut_context=series.uut_context,
        metric=series.metric.name,
        quantity=series.metric.column,
        in_points=series.metric.points,
        points=[_mean(point) for point in series.points],
        level_changes=None if levels is None else [_level_change(level) for level in levels],
    )


def _mean(point: Point) -> documents.CampaignMean:
    found = point.value
    return documents.CampaignMean(
        campaign=str(point.campaign.directory),
        created_at=point.campaign.created_at.isoformat(),
        value=finite(found.value),
        low=finite(found.low),
        high=finite(found.high),
        n=found.n,
        bound=BOUNDS[found.bound],
    )


def _level_change(level: Level) -> documents.LevelChange:
    return documents.LevelChange(
        since=level.since.isoformat(),
        position=level.place,
        change=compared_document(level.change),
        also_changed=[*level.with_it],
    )
