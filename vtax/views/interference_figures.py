"""The heat map of interference: victims by aggressors."""

from __future__ import annotations

import plotly.graph_objects
from pydantic import JsonValue

from vtax.views.figure import Figure, Panel, figure, plot
from vtax.views.interference import Interference
from vtax.views.interference_tables import against_rest, matrix_table
from vtax.views.summary import Summary
from vtax.views.tables import EMULATED_HEADING

_WORSE, _EVEN, _BETTER = "#d55e00", "#e8e8e8", "#0072b2"
_TIMES = "mean response time"
ROW_PX, HEAD_PX = 34, 120


@figure("interference")
def interference(summary: Summary) -> Figure:
    """What neighbours do to whom, a panel a metric and group of platforms."""
    grouped: dict[str, list[Interference]] = {}
    for row in against_rest(summary.neighbourhood.interference):
        group = f": {EMULATED_HEADING}" if summary.emulated(row.platform) else ""
        grouped.setdefault(f"{row.metric}{group}", []).append(row)
    measured = {row.platform for rows in grouped.values() for row in rows}
    return Figure(
        name="interference",
        title="Interference",
        caption="Ratio to the same cell with idle neighbours, or without any. Orange is worse for the guest, blue "
        "better; an entry whose interval includes 1 is in brackets. ≥, ≤: one side is a lower bound; withheld: both "
        "sides are.",
        panels=tuple(Panel(title, _plot(rows)) for title, rows in grouped.items()),
        platforms=tuple(platform.name for platform in summary.platforms if platform.name in measured),
        table=matrix_table(summary),
    )


def _plot(rows: list[Interference]) -> plotly.graph_objects.Figure:
    victims = list(dict.fromkeys((row.platform, row.victim) for row in rows))
    aggressors = list(dict.fromkeys(row.aggressor for row in rows))
    entries = {(row.platform, row.victim, row.aggressor): row for row in rows}
    grid = [[entries.get((*victim, aggressor)) for aggressor in aggressors] for victim in victims]
    worse_is_more = rows[0].metric == _TIMES
    colors = [_BETTER, _EVEN, _WORSE] if worse_is_more else [_WORSE, _EVEN, _BETTER]
    values = [
        [None if row is None or row.ratio.is_withheld else row.ratio.value for row in line] for line in grid
    ]
    reach = max((abs(value - 1) for line in values for value in line if value is not None), default=0) or 1.0
    heat = plotly.graph_objects.Heatmap(
        x=aggressors,
        y=[f"{platform}: {victim}" for platform, victim in victims],
        z=values,
        text=[[_text(row) for row in line] for line in grid],
        texttemplate="%{text}",
        hovertemplate="%{y}<br>%{x}: %{text}<extra></extra>",
        zmid=1,
        zmin=1 - reach,
        zmax=1 + reach,
        colorscale=[[index / 2, color] for index, color in enumerate(colors)],
        showscale=False,
    )
    axis: dict[str, JsonValue] = {"autorange": "reversed", "title": None, "showgrid": False}
    return plot([heat], "neighbours", "", yaxis=axis, height=HEAD_PX + ROW_PX * len(victims))


def _text(row: Interference | None) -> str:
    if row is None:
        return ""
    is_even = row.ratio.includes(1.0) and not row.ratio.is_withheld
    return f"({row.shown})" if is_even else row.shown
