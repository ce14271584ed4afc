"""The registry of figures: a scenario names the ones it wants.

A figure is a list of panels, each a Plotly figure of its own, so that a page can reflow them to a phone's
width; legend and table belong to the whole figure. Adding one is a function with the `figure` decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects
from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.model.table import Table
from vtax.results.stored import mapping
from vtax.views.summary import Summary


@dataclass(frozen=True)
class Panel:
    """One plot. Panels with the same `row` stand together where the width allows.

    `platform` is the one that all of it is of, empty where it shows several.
    """

    title: str
    plot: plotly.graph_objects.Figure
    row: str = ""
    platform: str = ""


@dataclass(frozen=True)
class Key:
    """What a colour stands for that is no platform's."""

    label: str
    color: str


@dataclass(frozen=True)
class Figure:
    """A figure as a reader sees it: `caption` says how to read it, `table` holds the numbers behind it.

    Its legend has a swatch for each of `platforms` and `keys`. `printed` is what a paper prints of the same quantity,
    where that is not in `table`.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    platforms: tuple[str, ...]
    table: Table
    keys: tuple[Key, ...] = ()
    printed: Table | None = None

    @property
    def published(self) -> Table:
        """What a paper prints of it, on other hardware; empty where there is nothing."""
        return self.printed or self.table.published

    def rows(self) -> list[tuple[str, list[tuple[int, Panel]]]]:
        """Panels with their index, those of one `row` together."""
        grouped: dict[str, list[tuple[int, Panel]]] = {}
        for index, panel in enumerate(self.panels):
            grouped.setdefault(panel.row, []).append((index, panel))
        return list(grouped.items())


Draw = Callable[[Summary], Figure]

_REGISTRY: dict[str, Draw] = {}

ALWAYS = ("delay-percentiles", "loss-by-load")
"""Figures that every report ends with, whether its scenario asks for them or not."""


def figure(name: str) -> Callable[[Draw], Draw]:
    """Register a function under the name that scenarios use in `figures`."""

    def register(draw: Draw) -> Draw:
        _REGISTRY[name] = draw
        return draw

    return register


def figure_names() -> list[str]:
    """All names that a scenario may use."""
    return sorted(_REGISTRY)


def check_figures(names: Iterable[str]) -> None:
    """Refuse a list with an unknown figure.

    Raises:
        InputError: names the unknown figure and those there are.
    """
    for name in names:
        if name not in _REGISTRY:
            raise InputError(f"figures: unknown figure '{name}'; there are: {', '.join(figure_names())}")


def draw_figures(summary: Summary) -> list[Figure]:
    """The figures that the scenario asks for, then those every report has.

    Raises:
        InputError: the scenario asks for an unknown figure.
    """
    wanted = list(dict.fromkeys([*summary.provenance.figures, *ALWAYS]))
    check_figures(wanted)
    return [_REGISTRY[name](summary) for name in wanted]


def plot(
    traces: Sequence[dict[str, JsonValue] | plotly.graph_objects.Trace],
    x_title: str,
    y_title: str,
    **layout: JsonValue,
) -> plotly.graph_objects.Figure:
    """A Plotly figure in the house style: quiet, on transparent ground; the page's CSS gives the ink."""
    style: dict[str, JsonValue] = {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        # Room for slanted labels: where it does not suffice a figure is drawn twice.
        "margin": {"l": 56, "r": 12, "t": 16, "b": 60},
        "height": 300,
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#22272e", "bordercolor": "#22272e", "font": {"color": "#ffffff"}},
        "xaxis": {"title": {"text": x_title, "standoff": 8}, **_AXIS, **mapping(layout.pop("xaxis", None))},
        "yaxis": {"title": {"text": y_title, "standoff": 8}, **_AXIS, **mapping(layout.pop("yaxis", None))},
    }
    return plotly.graph_objects.Figure(data=list(traces), layout={**style, **layout})


_AXIS: dict[str, JsonValue] = {
    "showgrid": True,
    "gridcolor": "rgba(128,128,128,0.22)",
    "zeroline": False,
    "showline": False,
    "ticks": "",
    "automargin": True,
}
