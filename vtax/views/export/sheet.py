"""A figure of the report as one drawing for a paper: its panels in rows, a title over each, one legend above all."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from vtax.results import whole
from vtax.results.stored import listed, mapping
from vtax.views.figure import Figure, Key, Panel
from vtax.views.page import Drawn, columns, plot_json
from vtax.views.palette import Style
from vtax.views.traces import Trace

PLOT_PX = 266
LEFT_PX, RIGHT_PX, BOTTOM_PX = 64, 20, 52
"""Room of a panel for its axes; a colour bar takes BAR_PX more at its right."""
BAR_PX = 64
TITLE_PX, LEGEND_PX = 34, 30
ENTRY_PX, LETTER_PX = 150, 7
"""Width of an entry of the legend, and of a letter, at most."""
INK = "#1b1f24"

_OF_A_PANEL = (
    "xaxis",
    "yaxis",
    "scene",
    "shapes",
    "height",
    "margin",
    "paper_bgcolor",
    "plot_bgcolor",
    "hoverlabel",
)


def sheet(figure: Figure, style: Mapping[str, Style]) -> Drawn:
    """A Plotly figure as JSON values, with `width` and `height` in its layout; `style` has every platform's."""
    plots = [plot_json(panel.plot) for panel in figure.panels]
    left = max(map(_left, plots))
    wide = left + PLOT_PX + RIGHT_PX + (BAR_PX if any(map(_has_bar, plots)) else 0)
    rows = _rows(figure, alone=left > LEFT_PX)
    width = max(map(len, rows)) * wide
    legend = _legend(figure, style)
    top = LEGEND_PX * math.ceil(len(legend) / max(1, width // ENTRY_PX))
    heights = [max(whole(plots[index]["layout"]["height"]) for index in row) for row in rows]
    height = top + sum(heights) + len(rows) * TITLE_PX
    data: list[Trace] = []
    layout: dict[str, JsonValue] = {}
    titles: list[JsonValue] = []
    shapes: list[JsonValue] = []
    down = top
    for row, room in zip(rows, heights, strict=True):
        down += TITLE_PX
        for place, index in enumerate(row):
            x = [(place * wide + left) / width, (place * wide + left + PLOT_PX) / width]
            y = [1 - (down + room - BOTTOM_PX) / height, 1 - down / height]
            shapes += _shapes(plots[index], index + 1)
            data += _traces(plots[index], index + 1, x, y)
            layout |= _layout(plots[index], index + 1, x, y)
            titles.append(_title(figure.panels[index], place * wide / width, y[1]))
        down += room
    return {
        "data": [*data, *legend],
        "layout": {
            "annotations": titles,
            "shapes": shapes,
            **layout,
            "width": width,
            "height": height,
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "font": {"family": "Helvetica, Arial, DejaVu Sans, sans-serif", "size": 12, "color": INK},
            "showlegend": bool(legend),
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "top", "bgcolor": "white"},
        },
    }


def _rows(figure: Figure, *, alone: bool) -> list[list[int]]:
    """Places of the panels that stand side by side, as on the page; each `alone` where its labels need the room."""
    rows = []
    for _, panels in figure.rows():
        most = 1 if alone else columns(len(panels))
        places = [index for index, _ in panels]
        rows += [places[start : start + most] for start in range(0, len(places), most)]
    return rows


def _left(plot: Drawn) -> int:
    """Room that the labels of the y axis take: of categories as long as they are."""
    labels = [label for trace in plot["data"] if trace["type"] == "heatmap" for label in listed(trace["y"])]
    return max([LEFT_PX, *(LETTER_PX * len(label) for label in labels if isinstance(label, str))])


def _traces(plot: Drawn, number: int, x: list[float], y: list[float]) -> Iterator[Trace]:
    """A panel's traces with its axes, at these shares of the drawing's width and height."""
    for trace in plot["data"]:
        own: Trace = (
            {"scene": f"scene{number}"}
            if _is_surface(trace)
            else {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        )
        if _draws_bar(trace):
            bar = mapping(trace.get("colorbar"))
            own["colorbar"] = {**bar, "x": x[1], "y": sum(y) / 2, "len": y[1] - y[0], "thickness": 10}
        yield {**trace, **own, "showlegend": False}


def _layout(plot: Drawn, number: int, x: list[float], y: list[float]) -> dict[str, JsonValue]:
    """A panel's axes there, and what else its layout has."""
    own, axes = plot["layout"], dict[str, JsonValue]()
    if any(map(_is_surface, plot["data"])):
        axes[f"scene{number}"] = {**mapping(own.get("scene")), "domain": {"x": [*x], "y": [*y]}}
    else:
        axes[f"xaxis{number}"] = {**mapping(own["xaxis"]), "domain": [*x], "anchor": f"y{number}"}
        axes[f"yaxis{number}"] = {**mapping(own["yaxis"]), "domain": [*y], "anchor": f"x{number}"}
    return {**axes, **{name: value for name, value in own.items() if name not in _OF_A_PANEL}}


def _shapes(plot: Drawn, number: int) -> Iterator[JsonValue]:
    """A panel's lines, on its axes."""
    for shape in listed(plot["layout"].get("shapes")):
        yield {**mapping(shape), "xref": f"x{number}", "yref": f"y{number}"}


def _title(panel: Panel, x: float, y: float) -> Trace:
    return {
        "text": f"<b>{html.escape(panel.title)}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
        "font": {"size": 11},
    }


def _legend(figure: Figure, style: Mapping[str, Style]) -> list[Trace]:
    """Entries without points; none where panels are of one platform, which their titles say, or name them."""
    named = all(panel.platform for panel in figure.panels) or figure.panels[0].plot.data[0].type == "heatmap"
    platforms = () if named else figure.platforms
    return [*(_platform(name, style[name]) for name in platforms), *map(_key, figure.keys)]


def _platform(name: str, style: Style) -> Trace:
    line: Trace = {"color": style.color, "dash": style.dash, "width": 1.6}
    return {
        **_entry(name),
        "mode": "lines+markers",
        "line": line,
        "marker": {"symbol": style.symbol, "size": 8},
    }


def _key(key: Key) -> Trace:
    return {
        **_entry(key.label),
        "mode": "markers",
        "marker": {"symbol": "square", "color": key.color, "size": 10},
    }


def _entry(name: str) -> Trace:
    return {"type": "scatter", "name": html.escape(name), "x": [None], "y": [None], "showlegend": True}


def _is_surface(trace: Trace) -> bool:
    return bool(trace["type"] == "surface")


def _draws_bar(trace: Trace) -> bool:
    return trace["type"] in ("heatmap", "surface") and bool(trace.get("showscale", True))


def _has_bar(plot: Drawn) -> bool:
    return any(map(_draws_bar, plot["data"]))
