"""The figure of oljira2016, section III.B: goodput over the length of messages."""

from __future__ import annotations

import plotly.graph_objects
from pydantic import JsonValue

from vtax.model import numbers
from vtax.model.bound import Bound
from vtax.views.figure import Figure, Panel, figure, plot
from vtax.views.message_tables import messages_table
from vtax.views.messages import MessageGoodput
from vtax.views.palette import styles
from vtax.views.summary import Summary
from vtax.views.tables import heading
from vtax.views.traces import MBPS_GOODPUT, Point, dotted, line


@figure("goodput-by-message")
def goodput_by_message(summary: Summary) -> Figure:
    """Goodput over message size, a panel a transport and buffer, a line a platform (oljira2016 Fig. 5)."""
    rows = [row for row in summary.streams.messages if row.message_bytes is not None]
    grouped: dict[str, list[MessageGoodput]] = {}
    for row in rows:
        grouped.setdefault(heading(summary, row), []).append(row)
    reach = 1.06 * max((max(row.goodput_mbps.value, row.link_mbps or 0.0) for row in rows), default=0.0)
    measured = {row.platform for row in rows}
    return Figure(
        name="goodput-by-message",
        title="Goodput by message length",
        caption="Mean over the repetitions. Error bars: standard deviation, as in the paper. The axis of the length is "
        "logarithmic. Hollow: limited by the far ends. Dashed: emulated CPU. Dotted: goodput of a full link; for TCP "
        "with timestamps layer-1 rate × (mtu − 52) / (mtu + 38).",
        panels=tuple(Panel(title, _plot(summary, here, reach)) for title, here in grouped.items()),
        platforms=tuple(platform.name for platform in summary.platforms if platform.name in measured),
        table=messages_table(summary),
    )


def _plot(summary: Summary, rows: list[MessageGoodput], reach: float) -> plotly.graph_objects.Figure:
    lines = [
        line(platform, style, points, MBPS_GOODPUT)
        for platform, style in styles(summary.platforms).items()
        if (points := [_point(row) for row in rows if row.platform == platform])
    ]
    lengths = sorted({row.message_bytes for row in rows if row.message_bytes is not None})
    ticks: dict[str, JsonValue] = {
        "type": "log",
        "tickvals": [*lengths],
        "ticktext": [f"{length:,}" for length in lengths],
    }
    goodputs: dict[str, JsonValue] = {"range": [0, reach], "nticks": 6}
    full = dotted({row.message_bytes: row.link_mbps for row in rows if row.message_bytes and row.link_mbps})
    return plot([full, *lines], "message, byte", f"goodput, {numbers.L4_MBPS}", xaxis=ticks, yaxis=goodputs)


def _point(row: MessageGoodput) -> Point:
    assert row.message_bytes is not None  # noqa: S101 - others are left out
    where = f"with {row.message_bytes}-byte messages"
    hollow = row.goodput_mbps.bound is not Bound.EXACT
    return Point(
        row.message_bytes, row.goodput_mbps, where, hollow, deviation=row.deviation_mbps, key=row.key
    )
