"""A history as one HTML file that needs no network."""

from __future__ import annotations

from dataclasses import dataclass

import vtax
from vtax.model.platform import Platform
from vtax.model.table import Table
from vtax.views.figure import Panel
from vtax.views.history import Chapter, History
from vtax.views.history.figure import history_panels
from vtax.views.history.table import latest_table, level_table, outcome
from vtax.views.library import plotly_js
from vtax.views.page import columns, inline, plot_json, script_json, template
from vtax.views.palette import Style, styles

OPEN_ROWS = 24
"""A table with more rows than this starts closed."""


@dataclass(frozen=True)
class Shown:
    """An experiment as the page shows it."""

    name: str
    outcome: str
    span: str
    platforms: list[str]
    emulated: set[str]
    levels: Table
    latest: Table
    panels: list[Panel]


def history_page(history: History) -> str:
    """The page's HTML. Everything that comes from a result is escaped."""
    style = styles(_platforms(history))
    panels = [history_panels(chapter.series, style) for chapter in history.chapters]
    plots = {
        plot_id(chapter, index): plot_json(panel.plot)
        for chapter, found in enumerate(panels)
        for index, panel in enumerate(found)
    }
    return template("history.html").render(
        inline=inline(["plots.js"], plotly_js(plots)) if plots else inline([]),
        history=history,
        version=vtax.__version__,
        style=style,
        chapters=[
            _chapter(chapter, found, style) for chapter, found in zip(history.chapters, panels, strict=True)
        ],
        plots=script_json(plots),
        open_rows=OPEN_ROWS,
        most_rows=OPEN_ROWS,
        behind={},
        plot_id=plot_id,
        columns=columns,
    )


def plot_id(chapter: int, index: int) -> str:
    """The element that a panel is drawn in."""
    return f"plot-history-{chapter}-{index}"


def _chapter(chapter: Chapter, panels: list[Panel], style: dict[str, Style]) -> Shown:
    campaigns = chapter.experiment.campaigns
    first, last = (campaign.created_at for campaign in (campaigns[0], campaigns[-1]))
    return Shown(
        name=chapter.experiment.name,
        outcome=outcome(chapter.series),
        span=f"{len(campaigns)} campaigns, {first:%Y-%m-%d} to {last:%Y-%m-%d}",
        platforms=[name for name in style if any(one.platform == name for one in chapter.series)],
        emulated={platform.name for platform in campaigns[-1].platforms if platform.emulated},
        levels=level_table(chapter.series),
        latest=latest_table(chapter.series),
        panels=panels,
    )


def _platforms(history: History) -> list[Platform]:
    """Every platform of any campaign, so that one has the same colour throughout."""
    found = {
        platform.name: platform
        for chapter in history.chapters
        for campaign in chapter.experiment.campaigns
        for platform in campaign.platforms
    }
    return list(found.values())
