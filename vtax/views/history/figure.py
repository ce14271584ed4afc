"""The one figure of a history: every series against its first campaign, a panel a metric."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from vtax.model.metric import Metric
from vtax.model.numbers import amount
from vtax.views.figure import Panel, plot
from vtax.views.history.series import Series
from vtax.views.palette import Style
from vtax.views.traces import Trace

_CHANGED, _PLAIN = 11, 5


def history_panels(series: Sequence[Series], style: Mapping[str, Style]) -> list[Panel]:
    """A panel a metric, a line a cell in its platform's colour, larger markers where its level changed."""
    by_metric: dict[Metric, list[Series]] = {}
    for one in series:
        by_metric.setdefault(one.metric, []).append(one)
    return [
        Panel(metric.name, plot([_line(one, style[one.platform]) for one in found], "", _axis(metric)))
        for metric, found in by_metric.items()
    ]


def _axis(metric: Metric) -> str:
    return "percentage points since the first" if metric.points else "% since the first"


def _line(series: Series, style: Style) -> Trace:
    first = series.points[0].value.value
    changed = {level.place for level in series.levels or ()}
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": html.escape(series.cell),
        "x": [point.campaign.created_at.isoformat() for point in series.points],
        "y": [_since(series.metric, first, point.value.value) for point in series.points],
        "text": [
            f"{html.escape(series.cell)}<br>{amount(point.value, series.metric.form)} {series.metric.unit}"
            f"<br>{html.escape(point.campaign.directory.name)}"
            for point in series.points
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": style.color, "dash": style.dash, "width": 1.2},
        "marker": {
            "color": style.color,
            "symbol": style.symbol,
            "size": [_CHANGED if place in changed else _PLAIN for place in range(len(series.points))],
        },
    }


def _since(metric: Metric, first: float, value: float) -> float | None:
    if metric.points:
        return 100 * (value - first)
    return 100 * (value / first - 1) if first else None
