"""The figures of schlosser2011 section 4, and one-way delay and loss beside them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import plotly.graph_objects as go

from vtax.views import numbers, tables
from vtax.views.cells import Setting, load_label
from vtax.views.estimate import Estimate
from vtax.views.figure import Figure, Panel, figure, plot
from vtax.views.palette import Style, styles
from vtax.views.summary import Summary
from vtax.views.throughput import Maximum, Throughput

_HOW_TO_READ = "Bars at the points are 95% intervals. Hollow: generator-limited, a lower bound. Dashed: emulated CPU."

_DIAGONAL = {"color": "rgba(128,128,128,0.55)", "width": 1}

Row = TypeVar("Row")


@figure("throughput-by-load")
def throughput_by_load(summary: Summary) -> Figure:
    """Offered against measured throughput, a panel a frame size, a line a platform (schlosser2011, Fig. 3)."""
    rows = fewest_streams(summary.throughput)
    panels = []
    for setting in settings(rows):
        here = [row for row in rows if row.setting == setting]
        reach = max(max(row.offered_mbps.value, row.received_mbps.value) for row in here) * 1.04
        diagonal = go.Scatter(
            x=[0, reach], y=[0, reach], mode="lines", line=_DIAGONAL, hoverinfo="skip", name="offered = received"
        )
        lines = [
            _line(
                platform,
                style,
                [row for row in here if row.platform == platform],
                x=[row.offered_mbps.value for row in here if row.platform == platform],
                y=[row.received_mbps for row in here if row.platform == platform],
                form=numbers.mbps,
                unit="Mbit/s received",
            )
            for platform, style in _styles(summary, here)
        ]
        panels.append(
            Panel(
                setting.label,
                plot(
                    [diagonal, *lines],
                    "offered, Mbit/s",
                    "received, Mbit/s",
                    xaxis={"range": [0, reach]},
                    yaxis={"range": [0, reach]},
                ),
            )
        )
    return Figure(
        name="throughput-by-load",
        title="Throughput by offered load",
        caption=f"{_HOW_TO_READ} On the thin diagonal all that is offered arrives.",
        panels=tuple(panels),
        platforms=_names(summary, rows),
        table=tables.throughput_table(summary),
    )


@figure("maximum-by-streams")
def maximum_by_streams(summary: Summary) -> Figure:
    """Maximum accumulated throughput by streams, with that of each stream beside it (schlosser2011, Fig. 4)."""
    rows = summary.maxima
    panels = []
    for frame in sorted({(row.setting.frame_bytes, row.setting.further) for row in rows}):
        here = [row for row in rows if (row.setting.frame_bytes, row.setting.further) == frame]
        title = Setting(frame[0], 1, frame[1]).label.replace(", 1 stream", "")
        bars: list[Any] = []
        points: list[Any] = []
        for platform, style in _styles(summary, here):
            own = [row for row in here if row.platform == platform]
            bars.append(_bars(platform, style, own))
            points.append(_stream_points(platform, style, own))
        streams = sorted({row.setting.streams for row in here})
        axis = {"type": "category", "categoryarray": [str(n) for n in streams], "showgrid": False}
        zero = {"rangemode": "tozero"}
        panels += [
            Panel(
                f"{title}, accumulated",
                plot(bars, "streams", "received, Mbit/s", barmode="group", bargap=0.28, xaxis=axis, yaxis=zero),
                title,
            ),
            Panel(
                f"{title}, each stream",
                plot(points, "streams", "received, Mbit/s", scattermode="group", xaxis=axis, yaxis=zero),
                title,
            ),
        ]
    return Figure(
        name="maximum-by-streams",
        title="Maximum accumulated throughput",
        caption=f"{tables.SELECTION_NOT_CORRECTED} Bars at the points are 95% intervals. Hollow: generator-limited, "
        "a lower bound. Hatched: emulated CPU. At the right, each stream by itself at that same load.",
        panels=tuple(panels),
        platforms=_names(summary, rows),
        table=tables.maximum_table(summary),
    )


@figure("delay-percentiles")
def delay_percentiles(summary: Summary) -> Figure:
    """One-way delay quantiles by intended load, a panel a quantile and frame size."""
    rows = fewest_streams(summary.percentiles)
    limited = {
        (row.platform, row.setting, row.intended_mbps)
        for row in summary.throughput
        if row.generator_limited
    }
    panels = []
    for setting in settings(rows):
        for label in dict.fromkeys(row.label for row in rows):
            here = [row for row in rows if row.setting == setting and row.label == label]
            if not here:
                continue
            lines = []
            for platform, style in _styles(summary, here):
                own = [row for row in here if row.platform == platform]
                lines.append(
                    _line(
                        platform,
                        style,
                        own,
                        x=[load_label(row.intended_mbps) for row in own],
                        y=[row.delay_ns for row in own],
                        form=numbers.microseconds,
                        unit=f"µs {label}",
                        scale=1e-3,
                        hollow=[(row.platform, row.setting, row.intended_mbps) in limited for row in own],
                    )
                )
            panels.append(
                Panel(
                    f"{setting.label}, {label}",
                    plot(
                        lines,
                        "intended, Mbit/s a stream",
                        "one-way delay, µs",
                        xaxis=_load_axis(summary),
                        yaxis={"type": "log", "dtick": 1, "exponentformat": "none"},
                    ),
                    setting.label,
                )
            )
    return Figure(
        name="delay-percentiles",
        title="One-way delay",
        caption=f"{_HOW_TO_READ} Logarithmic. From probe frames, merged over repetitions.",
        panels=tuple(panels),
        platforms=_names(summary, rows),
        table=tables.delay_table(summary),
    )


@figure("loss-by-load")
def loss_by_load(summary: Summary) -> Figure:
    """Frame loss ratio by intended load, a panel a frame size."""
    rows = [row for row in fewest_streams(summary.throughput) if row.loss_ratio]
    panels = []
    for setting in settings(rows):
        here = [row for row in rows if row.setting == setting]
        lines = []
        for platform, style in _styles(summary, here):
            own = [row for row in here if row.platform == platform]
            lines.append(
                _line(
                    platform,
                    style,
                    own,
                    x=[load_label(row.intended_mbps) for row in own],
                    y=[row.loss_ratio for row in own if row.loss_ratio],
                    form=numbers.ratio_as_percent,
                    unit="% lost",
                    scale=100,
                )
            )
        most = max((row.loss_ratio.high or row.loss_ratio.value) for row in here if row.loss_ratio) * 100
        panels.append(
            Panel(
                setting.label,
                plot(
                    lines,
                    "intended, Mbit/s a stream",
                    "frames lost, %",
                    xaxis=_load_axis(summary),
                    yaxis={"range": [-0.04 * max(most, 1.0), 1.06 * max(most, 1.0)]},
                ),
            )
        )
    return Figure(
        name="loss-by-load",
        title="Frame loss",
        caption=f"{_HOW_TO_READ} What the source could not send is not loss.",
        panels=tuple(panels),
        platforms=_names(summary, rows),
        table=tables.throughput_table(summary),
    )


def fewest_streams(rows: Sequence[Any]) -> list[Any]:
    """Those rows of the smallest number of streams."""
    fewest = min((row.setting.streams for row in rows), default=1)
    return [row for row in rows if row.setting.streams == fewest]


def settings(rows: Iterable[Any]) -> list[Setting]:
    """The distinct settings of the rows, in order."""
    return sorted({row.setting for row in rows})


def _line(
    platform: str,
    style: Style,
    rows: Sequence[Throughput] | Sequence[Any],
    *,
    x: list[Any],
    y: list[Estimate],
    form: numbers.Format,
    unit: str,
    scale: float = 1.0,
    hollow: list[bool] | None = None,
) -> go.Scatter:
    hollow = hollow if hollow is not None else [row.generator_limited for row in rows]
    return go.Scatter(
        name=html.escape(platform),
        x=x,
        y=[estimate.value * scale for estimate in y],
        error_y=_error_bars(y, scale, style),
        mode="lines+markers",
        line={"color": style.color, "dash": style.dash, "width": 1.6},
        marker={
            "symbol": [f"{style.symbol}-open" if open_ else style.symbol for open_ in hollow],
            "color": style.color,
            "size": 8,
            "line": {"width": 1.6, "color": style.color},
        },
        text=[
            _hover(platform, load_label(row.intended_mbps), estimate, form, unit, open_)
            for row, estimate, open_ in zip(rows, y, hollow, strict=True)
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _bars(platform: str, style: Style, rows: Sequence[Maximum]) -> go.Bar:
    received = [row.received_mbps for row in rows]
    return go.Bar(
        name=html.escape(platform),
        offsetgroup=platform,
        x=[str(row.setting.streams) for row in rows],
        y=[estimate.value for estimate in received],
        error_y=_error_bars(received, 1.0, None),
        marker={
            "color": ["rgba(0,0,0,0)" if row.generator_limited else style.color for row in rows],
            "line": {"color": style.color, "width": 1.6},
            "pattern": {
                "shape": style.hatch,
                "size": 6,
                "solidity": 0.25,
                "fgcolor": [style.color if row.generator_limited else "rgba(255,255,255,0.8)" for row in rows],
            },
        },
        text=[
            _hover(
                platform, load_label(row.intended_mbps), row.received_mbps, numbers.mbps, "Mbit/s", row.generator_limited
            )
            for row in rows
        ],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )


def _stream_points(platform: str, style: Style, rows: Sequence[Maximum]) -> go.Scatter:
    found = [
        (row, stream, estimate) for row in rows for stream, estimate in row.stream_received_mbps.items()
    ]
    return go.Scatter(
        name=html.escape(platform),
        offsetgroup=platform,
        x=[str(row.setting.streams) for row, _, _ in found],
        y=[estimate.value for _, _, estimate in found],
        error_y=_error_bars([estimate for _, _, estimate in found], 1.0, style),
        mode="markers",
        marker={
            "symbol": [f"{style.symbol}-open" if row.generator_limited else style.symbol for row, _, _ in found],
            "color": style.color,
            "size": 8,
            "line": {"width": 1.6, "color": style.color},
        },
        text=[
            _hover(
                f"{platform}, stream {stream}",
                load_label(row.intended_mbps),
                estimate,
                numbers.mbps,
                "Mbit/s",
                row.generator_limited,
            )
            for row, stream, estimate in found
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _error_bars(estimates: Sequence[Estimate], scale: float, style: Style | None) -> dict[str, Any]:
    """Interval bars; none where an interval could not be formed."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [((e.high if e.high is not None else e.value) - e.value) * scale for e in estimates],
        "arrayminus": [(e.value - (e.low if e.low is not None else e.value)) * scale for e in estimates],
        "color": style.color if style else "rgba(128,128,128,0.9)",
        "thickness": 1.2,
        "width": 3,
    }


def _hover(
    platform: str, load: str, estimate: Estimate, form: numbers.Format, unit: str, hollow: bool
) -> str:
    interval = f"95% interval {numbers.interval(estimate, form)}" if estimate.has_interval else "no interval"
    limited = "<br>generator-limited: a lower bound" if hollow else ""
    return (
        f"<b>{html.escape(platform)}</b> at {load} Mbit/s<br>{form(estimate.value)} {unit}<br>{interval}<br>"
        f"n = {estimate.n}, left out {numbers.share(estimate.left_out)}{limited}"
    )


def _load_axis(summary: Summary) -> dict[str, Any]:
    loads = dict.fromkeys(
        load_label(row.intended_mbps)
        for row in sorted(
            summary.throughput, key=lambda row: (row.intended_mbps is None, row.intended_mbps or 0.0)
        )
    )
    return {"type": "category", "categoryorder": "array", "categoryarray": list(loads)}


def _styles(summary: Summary, rows: Iterable[Any]) -> list[tuple[str, Style]]:
    present = {row.platform for row in rows}
    return [(name, style) for name, style in styles(summary.platforms).items() if name in present]


def _names(summary: Summary, rows: Iterable[Any]) -> tuple[str, ...]:
    return tuple(name for name, _ in _styles(summary, rows))
