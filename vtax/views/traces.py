"""Plotly traces of estimates: a line or bars a platform, with intervals, hollow where the instrument set them."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from vtax.model import metrics, numbers
from vtax.model.bound import Bound
from vtax.model.estimate import Estimate
from vtax.views.palette import Style

Trace = dict[str, JsonValue]
"""As Plotly's JSON has it."""

_EMPTY = "rgba(0,0,0,0)"
_PALE = "rgba(255,255,255,0.55)"


@dataclass(frozen=True)
class Point:
    """An estimate at a place on the x axis; the hover text calls it `where`, and what it is of, `part`.

    It is drawn `hollow` where the instrument set it, or its load.

    Bars are its interval, or one standard `deviation` of what it is the mean of. `key` is that of its cell.
    """

    x: float | str
    estimate: Estimate
    where: str
    hollow: bool = False
    part: str = ""
    deviation: float | None = None
    key: str = ""


@dataclass(frozen=True)
class Quantity:
    """How a measured value is drawn (times `scale`) and how the hover text says it.

    `metric` is the name of what each trial behind it has of it.
    """

    form: numbers.Format
    unit: str
    scale: float = 1.0
    metric: str = ""


MBPS_GOODPUT = Quantity(numbers.mbps, "Mbit/s of goodput", metric=metrics.GOODPUT.name)
PERCENT_OF_A_CPU = Quantity(numbers.percent, "% of a CPU", metric=metrics.CPU.name)
MBPS_RECEIVED = Quantity(numbers.mbps, "Mbit/s received", metric=metrics.THROUGHPUT.name)
PERCENT_LOST = Quantity(numbers.ratio_as_percent, "% lost", 100, metrics.LOSS.name)
RESPONSE_TIME = Quantity(numbers.microseconds, "µs on average", 1e-3, metrics.RESPONSE_TIME.name)


def delay_quantity(label: str) -> Quantity:
    """A delay quantile, drawn in µs."""
    return Quantity(numbers.microseconds, f"µs, {label}", 1e-3, f"latency_{label}")


def diagonal(reach: float) -> Trace:
    """The thin line on which all that is offered arrives."""
    return {
        "type": "scatter",
        "x": [0, reach],
        "y": [0, reach],
        "mode": "lines",
        "line": {"color": "rgba(128,128,128,0.55)", "width": 1},
        "hoverinfo": "skip",
    }


def dotted(heights: Mapping[float, float]) -> Trace:
    """A dotted line at a height over each x."""
    return {
        "type": "scatter",
        "x": [*sorted(heights)],
        "y": [heights[x] for x in sorted(heights)],
        "mode": "lines",
        "line": {"color": "rgba(128,128,128,1)", "width": 1.4, "dash": "dot"},
        "hoverinfo": "skip",
    }


def line(platform: str, style: Style, points: Sequence[Point], quantity: Quantity) -> Trace:
    """A line with markers: dashed for an emulated platform, hollow markers where the instrument set the value."""
    return {
        **_scatter(platform, style, points, quantity),
        "mode": "lines+markers",
        "line": {"color": style.color, "dash": style.dash, "width": 1.6},
    }


def dodged_points(platform: str, style: Style, points: Sequence[Point], quantity: Quantity) -> Trace:
    """Markers in a lane of their own beside those of other platforms."""
    return {
        **_scatter(platform, style, points, quantity),
        "mode": "markers",
        "offsetgroup": html.escape(platform),
    }


def bars(platform: str, style: Style, points: Sequence[Point], quantity: Quantity) -> Trace:
    """Bars: hatched for an emulated platform, empty (thinly hatched) where the instrument set the value."""
    return {
        **_common(platform, points, quantity),
        "type": "bar",
        "offsetgroup": html.escape(platform),
        "error_y": _error_bars(points, quantity, "rgba(128,128,128,1)"),
        "textposition": "none",
        "marker": {
            "color": [_EMPTY if point.hollow and not style.hatch else style.color for point in points],
            "line": {"color": style.color, "width": 1.6},
            "pattern": {
                "shape": style.hatch,
                "size": 6,
                "solidity": [0.1 if point.hollow else 0.45 for point in points],
            },
        },
    }


def curve(
    label: str,
    color: str,
    points: Sequence[tuple[float, float]],
    hover: str,
    *,
    key: str,
    dashed: bool = False,
) -> Trace:
    """A distribution as steps; `hover` is what its points say, with `%{x}` and `%{y}`. All are of one cell."""
    return {
        "name": html.escape(label),
        "type": "scatter",
        "x": [float(f"{x:.5g}") for x, _ in points],
        "y": [round(y, 5) for _, y in points],
        "hovertemplate": f"<b>{html.escape(label)}</b><br>{hover}<extra></extra>",
        "meta": {"key": key},
        "mode": "lines",
        "line": {"color": color, "width": 1.8, "shape": "hv", "dash": "dash" if dashed else "solid"},
    }


def stack(label: str, color: str, hatch: str, points: Sequence[Point], quantity: Quantity) -> Trace:
    """A layer of stacked bars; its interval is in the hover text."""
    return {
        **_common(label, points, quantity),
        "type": "bar",
        "textposition": "none",
        "marker": {
            "color": color,
            "line": {"color": _PALE, "width": 1},
            "pattern": {"shape": hatch, "size": 6, "solidity": 0.3, "fillmode": "overlay", "fgcolor": _PALE},
        },
    }


def whiskers(label: str, points: Sequence[Point], quantity: Quantity) -> Trace:
    """Intervals without marks, to stand on stacked bars."""
    return {
        **_common(label, points, quantity),
        "type": "scatter",
        "mode": "markers",
        "error_y": _error_bars(points, quantity, "rgba(128,128,128,1)"),
        "marker": {"size": 1, "color": _EMPTY},
    }


def level(position: int, y: float) -> Trace:
    """A dotted line at a height over one category, as a shape."""
    return {
        "type": "line",
        "x0": position - 0.46,
        "x1": position + 0.46,
        "y0": y,
        "y1": y,
        "line": {"color": "rgba(128,128,128,1)", "width": 1.4, "dash": "dot"},
    }


def _scatter(platform: str, style: Style, points: Sequence[Point], quantity: Quantity) -> Trace:
    return {
        **_common(platform, points, quantity),
        "type": "scatter",
        "error_y": _error_bars(points, quantity, style.color),
        "marker": {
            "symbol": [f"{style.symbol}-open" if point.hollow else style.symbol for point in points],
            "color": style.color,
            "size": 8,
            "line": {"width": 1.6, "color": style.color},
        },
    }


def _common(platform: str, points: Sequence[Point], quantity: Quantity) -> Trace:
    return {
        "name": html.escape(platform),
        "x": [point.x for point in points],
        "y": [point.estimate.value * quantity.scale for point in points],
        "text": [_hover(platform, point, quantity) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
        "customdata": [point.key for point in points],
        "meta": {"metric": quantity.metric},
    }


def _error_bars(points: Sequence[Point], quantity: Quantity, color: str) -> Trace:
    """Interval bars: of a bound towards the end that bounds it, none where there is no interval.

    Nor is there one for an exact value without an upper bound: that would flatten all else.
    """
    up, down = [], []
    for point in points:
        value = point.estimate.value
        low, high = _reach(point)
        if point.estimate.bound is Bound.EXACT and not math.isfinite(high):
            low = high = value
        up.append((high - value) * quantity.scale if math.isfinite(high) else 0.0)
        down.append((value - low) * quantity.scale if math.isfinite(low) else 0.0)
    return {
        "type": "data",
        "symmetric": False,
        "array": [*up],
        "arrayminus": [*down],
        "color": color,
        "thickness": 1.2,
        "width": 3,
    }


def _reach(point: Point) -> tuple[float, float]:
    """From where to where a point's bar goes."""
    value = point.estimate.value
    if point.deviation is not None:
        return value - point.deviation, value + point.deviation
    return numbers.bounds(point.estimate) or (value, value)


def _hover(platform: str, point: Point, quantity: Quantity) -> str:
    found = point.estimate
    part = f", {point.part}" if point.part else ""
    lines = [
        f"<b>{html.escape(platform)}</b>{part} {html.escape(point.where)}",
        f"{numbers.amount(found, quantity.form)} {quantity.unit}",
        numbers.interval_words(found, quantity.form),
        f"n = {found.n}, left out {numbers.share(found.left_out)}",
    ]
    if point.deviation is not None:
        lines.append(f"standard deviation {quantity.form(point.deviation)}")
    if point.hollow:
        lines.append("limited by the instrument")
    return "<br>".join(lines)
