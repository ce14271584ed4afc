"""Many campaigns over time: where the level of any metric changed for good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vtax.views.compare.campaigns import Experiment, find_campaigns
from vtax.views.history.series import Series, series_of

__all__ = ["Chapter", "History", "read_history"]


@dataclass(frozen=True)
class Chapter:
    """An experiment's series, each of two campaigns or more."""

    experiment: Experiment
    series: list[Series]


@dataclass(frozen=True)
class History:
    """What the campaigns below a directory tell; `unread` names what was not read."""

    directory: Path
    within: float
    chapters: list[Chapter]
    unread: list[str]


def read_history(directory: Path, within: float) -> History:
    """Read all campaigns below `directory`. InputError where there is none."""
    found = find_campaigns(directory)
    chapters = [Chapter(experiment, series_of(experiment, within)) for experiment in found.experiments]
    return History(directory, within, chapters, found.unread)
