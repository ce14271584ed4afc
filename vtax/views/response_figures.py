"""The figures of oljira2016, section III.B: response time over the length of requests."""

from __future__ import annotations

import plotly.graph_objects
from pydantic import JsonValue

from vtax.model import metrics
from vtax.model.cell import Cell
from vtax.model.dimensions import REQUEST
from vtax.views.cell_tables import cell_table
from vtax.views.figure import Figure, Panel, figure, plot
from vtax.views.palette import styles
from vtax.views.summary import Summary
from vtax.views.tables import heading
from vtax.views.traces import RESPONSE_TIME, Point, line


@figure("response-time-by-message")
def response_time_by_message(summary: Summary) -> Figure:
    """Mean response time over message size, a line a platform (oljira2016 Fig. 2, 3, 4)."""
    rows = [cell for cell in summary.measured if cell.estimate(metrics.RESPONSE_TIME) is not None]
    grouped: dict[str, list[Cell]] = {}
    for row in rows:
        grouped.setdefault(heading(summary, row), []).append(row)
    panels = [Panel(title, _plot(summary, here)) for title, here in grouped.items()]
    measured = {row.platform for row in rows}
    return Figure(
        name="response-time-by-message",
        title="Response time by request length",
        caption="Mean over the repetitions, or median where some lie far from the others. Error bars: one standard "
        "deviation of the repetitions' means, as in the paper. Both axes are logarithmic: a bar without a lower end "
        "has a deviation of at least its mean. Dashed: emulated CPU.",
        panels=tuple(panels),
        platforms=tuple(platform.name for platform in summary.platforms if platform.name in measured),
        table=cell_table(summary, "responses"),
    )


def _plot(summary: Summary, rows: list[Cell]) -> plotly.graph_objects.Figure:
    lines = [
        line(platform, style, points, RESPONSE_TIME)
        for platform, style in styles(summary.platforms).items()
        if (points := [_point(row) for row in rows if row.platform == platform])
    ]
    lengths = sorted({row.level for row in rows if row.level is not None})
    axis: dict[str, JsonValue] = {
        "type": "log",
        "tickvals": [*lengths],
        "ticktext": [f"{length:,}" for length in lengths],
    }
    times: dict[str, JsonValue] = {"type": "log", "exponentformat": "none", "separatethousands": True}
    return plot(lines, "request, byte", "response time, µs", xaxis=axis, yaxis=times)


def _point(cell: Cell) -> Point:
    mean = cell.estimate(metrics.RESPONSE_TIME)
    assert mean is not None and cell.level is not None  # noqa: S101 - others are left out
    where = f"with {REQUEST.phrase(cell.level)}"
    return Point(cell.level, mean, where, deviation=cell.deviation(metrics.RESPONSE_TIME), key=cell.key)
