"""The figures of oljira2016, section III.B: response time over the length of requests."""

from __future__ import annotations

import plotly.graph_objects
from pydantic import JsonValue

from vtax.views.figure import Figure, Panel, figure, plot
from vtax.views.palette import styles
from vtax.views.responses import Responses
from vtax.views.responses_table import responses_table
from vtax.views.summary import Summary
from vtax.views.tables import heading
from vtax.views.traces import RESPONSE_TIME, Point, line


@figure("response-time-by-message")
def response_time_by_message(summary: Summary) -> Figure:
    """Mean response time over message size, a line a platform (oljira2016 Fig. 2, 3, 4)."""
    rows = [row for row in summary.responses if row.mean_ns is not None]
    grouped: dict[str, list[Responses]] = {}
    for row in rows:
        grouped.setdefault(heading(summary, row), []).append(row)
    panels = [Panel(title, _plot(summary, here)) for title, here in grouped.items()]
    measured = {row.platform for row in rows}
    return Figure(
        name="response-time-by-message",
        title="Response time by request length",
        caption="Mean over the repetitions. Error bars: one standard deviation of the repetitions' means, as in the "
        "paper. Both axes are logarithmic: a bar without a lower end has a deviation of at least its mean. Dashed: "
        "emulated CPU.",
        panels=tuple(panels),
        platforms=tuple(platform.name for platform in summary.platforms if platform.name in measured),
        table=responses_table(summary),
    )


def _plot(summary: Summary, rows: list[Responses]) -> plotly.graph_objects.Figure:
    lines = [
        line(platform, style, points, RESPONSE_TIME)
        for platform, style in styles(summary.platforms).items()
        if (points := [_point(row) for row in rows if row.platform == platform])
    ]
    lengths = sorted({row.message_bytes for row in rows})
    axis: dict[str, JsonValue] = {
        "type": "log",
        "tickvals": [*lengths],
        "ticktext": [f"{length:,}" for length in lengths],
    }
    times: dict[str, JsonValue] = {"type": "log", "exponentformat": "none", "separatethousands": True}
    return plot(lines, "request, byte", "response time, µs", xaxis=axis, yaxis=times)


def _point(row: Responses) -> Point:
    assert row.mean_ns is not None  # noqa: S101 - others are left out
    where = f"with {row.message_bytes}-byte requests"
    return Point(row.message_bytes, row.mean_ns, where, deviation=row.deviation_ns, key=row.key)
