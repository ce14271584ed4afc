"""Many campaigns over time: where the level of any metric changed for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from vtax.model.estimate import Estimate
from vtax.views.history.campaigns import Experiment, find_campaigns
from vtax.views.history.series import Level, Series, series_of

__all__ = ["Chapter", "History", "history_document", "read_history"]


@dataclass(frozen=True)
class Chapter:
    """An experiment's series, each of two campaigns or more."""

    experiment: Experiment
    series: list[Series]


@dataclass(frozen=True)
class History:
    """What the campaigns below a directory tell; `unread` names what could not be read."""

    directory: Path
    within: float
    chapters: list[Chapter]
    unread: list[str]


def read_history(directory: Path, within: float) -> History:
    """Read all campaigns below `directory`. InputError where there is none."""
    found = find_campaigns(directory)
    chapters = [Chapter(experiment, series_of(experiment, within)) for experiment in found.experiments]
    return History(directory, within, chapters, found.unread)


def history_document(history: History) -> dict[str, JsonValue]:
    """A history as JSON values; changes are relative, 0.1 for 10% more, or of metrics in points a difference."""
    return {
        "format_version": 1,
        "directory": str(history.directory),
        "within": history.within,
        "unread": [*history.unread],
        "experiments": [
            {
                "name": chapter.experiment.name,
                "campaigns": [str(campaign.directory) for campaign in chapter.experiment.campaigns],
                "series": [_series(series) for series in chapter.series],
            }
            for chapter in history.chapters
        ],
    }


def _series(series: Series) -> dict[str, JsonValue]:
    return {
        "cell": series.cell,
        "uut_context": series.uut_context,
        "metric": series.metric.name,
        "column": series.metric.column,
        "points": [
            {
                "campaign": str(point.campaign.directory),
                "created_at": point.campaign.created_at.isoformat(),
                **_estimate(point.value),
            }
            for point in series.points
        ],
        "levels": None if series.levels is None else list(_levels(series.levels)),
    }


def _estimate(found: Estimate) -> dict[str, JsonValue]:
    """An end that a bound leaves open is null, and so is a value that is withheld."""
    return {**found.numbers, "n": found.n, "bound": str(found.bound)}


def _levels(levels: tuple[Level, ...]) -> Iterator[dict[str, JsonValue]]:
    for level in levels:
        yield {
            "since": level.since.isoformat(),
            "place": level.place,
            "change": _estimate(level.change),
            "with_it": list(level.with_it),
        }
