"""The figures of matthews2009: rounds over runs as a mesh, histograms, and the ladder of null tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np
import plotly.graph_objects
from numpy.typing import NDArray
from pydantic import JsonValue

from vtax.model.runs import run_levels
from vtax.views.figure import Figure, Key, Panel, figure, plot
from vtax.views.palette import styles
from vtax.views.rounds import Rounds, Runs
from vtax.views.rounds_table import ladder_table, rounds_table
from vtax.views.summary import Summary

MOST_BINS = 200
"""Of iterations in a mesh: 50 runs of them are 10,000 numbers, however many rounds a run has."""
MOST_RUNS = 200
HISTOGRAM_BINS = 120
COLORS = "Viridis"


class Grid(TypedDict):
    """A mesh as Plotly takes it: runs, iterations, and times as a matrix, which JSON has not."""

    x: list[int]
    y: list[int]
    z: NDArray[np.float32]
    colorscale: str
    colorbar: dict[str, JsonValue]
    hovertemplate: str
    meta: dict[str, str]


@figure("rounds-mesh")
def rounds_mesh(summary: Summary) -> Figure:
    """Runs across, iterations upwards, the time in colour, a panel a platform (matthews2009 Fig. 2)."""
    axes: dict[str, JsonValue] = {"xaxis": {"showgrid": False}, "yaxis": {"showgrid": False}}
    return _mesh(
        summary,
        "rounds-mesh",
        "Slow rounds by run and iteration",
        lambda mesh: plot([_heat(mesh)], "run", "iteration", height=420, **axes),
    )


@figure("rounds-surface")
def rounds_surface(summary: Summary) -> Figure:
    """The same as a surface that can be turned."""
    return _mesh(summary, "rounds-surface", "Slow rounds by run and iteration, rotatable", _surface)


@figure("rounds-histogram")
def rounds_histogram(summary: Summary) -> Figure:
    """How often which time was taken, platforms beneath each other over the same times (matthews2009 Fig. 3)."""
    rows = [row for row in _fewest_hops(summary) if not np.isnan(row.ns).all()]
    done = {_title(row, rows): (row.platform, row.key, row.ns[~np.isnan(row.ns)] / 1000) for row in rows}
    panels = []
    if done:
        least = min(float(times.min()) for _, _, times in done.values())
        most = max(float(times.max()) for _, _, times in done.values())
        edges = np.geomspace(max(least, 0.001), max(most, 0.002) * 1.001, HISTOGRAM_BINS + 1)
        style = styles(summary.platforms)
        for title, (platform, key, times) in done.items():
            counts, _ = np.histogram(np.maximum(times, edges[0]), edges)
            bars = plotly.graph_objects.Bar(
                x=np.sqrt(edges[1:] * edges[:-1]).round(4).tolist(),
                y=counts.tolist(),
                width=np.diff(edges).round(4).tolist(),
                marker={"color": style[platform].color},
                hovertemplate="%{x:.1f} µs: %{y} rounds<extra></extra>",
                meta={"key": key},
            )
            axes: dict[str, JsonValue] = {
                "xaxis": {"type": "log", "range": np.log10([edges[0], edges[-1]]).tolist()},
                "yaxis": {"type": "log", "dtick": 1},
            }
            panels.append(
                Panel(title, plot([bars], "round, µs", "rounds", height=220, **axes), title, platform)
            )
    return Figure(
        name="rounds-histogram",
        title="Distribution of round times",
        caption=f"{_what(rows)} All runs together. Both axes are logarithmic, the times are the same in all panels.",
        panels=tuple(panels),
        platforms=tuple(dict.fromkeys(platform for platform, _, _ in done.values())),
        table=rounds_table(summary),
    )


@figure("null-ladder")
def null_ladder(summary: Summary) -> Figure:
    """Median, 99.9% quantile and maximum by what is timed, a panel a platform (matthews2009, section 3.1)."""
    shown = {"median": "#7a7a7a", "p99.9": "#0072b2", "max": "#d55e00"}
    panels = []
    for platform in summary.platforms:
        rows = sorted(
            (row for row in summary.runs.rounds if row.platform == platform.name and row.is_usable),
            key=lambda row: row.setting,
        )
        if len({run_levels(row.setting).load for row in rows}) < 2:
            continue
        traces = [
            plotly.graph_objects.Scatter(
                x=[run_levels(row.setting).rung for row in rows],
                y=[_microseconds(value) for value in _of(rows, name)],
                mode="lines+markers",
                line={"color": color},
                customdata=[row.key for row in rows],
                hovertemplate=f"{name} %{{y:.2f}} µs<extra></extra>",
            )
            for name, color in shown.items()
        ]
        axes: dict[str, JsonValue] = {"xaxis": {"type": "category"}, "yaxis": {"type": "log", "dtick": 1}}
        panels.append(Panel(platform.name, plot(traces, "timed", "time, µs", **axes), "", platform.name))
    return Figure(
        name="null-ladder",
        title="The ladder of null tests",
        caption="Each rung, from left to right, adds to the same loop. The time axis is logarithmic.",
        panels=tuple(panels),
        platforms=(),
        table=ladder_table(summary),
        keys=tuple(Key(name, color) for name, color in shown.items()),
    )


def maxima(ns: NDArray[np.float64], most_runs: int, most_bins: int) -> tuple[NDArray[np.float64], int, int]:
    """The greatest time of each bin of runs and iterations, at most so many of each; how many of both a bin has.

    So no slow round is lost; a bin whose rounds all failed is NaN.
    """
    runs, iterations = ns.shape
    tall, wide = -(-runs // most_runs), -(-iterations // most_bins)
    padded = np.full((-(-runs // tall) * tall, -(-iterations // wide) * wide), -np.inf)
    padded[:runs, :iterations] = np.where(np.isnan(ns), -np.inf, ns)
    binned = padded.reshape(padded.shape[0] // tall, tall, -1, wide).max(axis=(1, 3))
    return np.where(np.isinf(binned), np.nan, binned), tall, wide


def _mesh(
    summary: Summary, name: str, title: str, draw: Callable[[Runs], plotly.graph_objects.Figure]
) -> Figure:
    rows = [row for row in _fewest_hops(summary) if row.ns.size and not np.isnan(row.ns).all()]
    titled = {_title(row, rows): row for row in rows}
    bins = {maxima(row.ns, MOST_RUNS, MOST_BINS)[2] for row in rows}
    each = f"Each cell shows the slowest of {max(bins)} consecutive rounds." if bins else ""
    return Figure(
        name=name,
        title=title,
        caption=f"{_what(rows)} {each} Horizontal lines are iterations that are slow in every run; slanted lines "
        "move from run to run. Colours end at the 99.9% quantile of the cells.",
        panels=tuple(Panel(title, draw(row), title, row.platform) for title, row in titled.items()),
        platforms=tuple(dict.fromkeys(row.platform for row in rows)),
        table=rounds_table(summary),
    )


def _grid(row: Runs) -> Grid:
    """Runs, iterations and times of a mesh, as Plotly takes them."""
    binned, tall, wide = maxima(row.ns, MOST_RUNS, MOST_BINS)
    micros = (binned / 1000).astype(np.float32)
    return {
        "x": (np.arange(binned.shape[0]) * tall).tolist(),
        "y": (np.arange(binned.shape[1]) * wide).tolist(),
        "z": np.ascontiguousarray(micros.T),
        "colorscale": COLORS,
        "colorbar": {"title": {"text": "µs"}},
        "hovertemplate": "run %{x}, from iteration %{y}: %{z:.2f} µs<extra></extra>",
        "meta": {"key": row.key},
    }


def _heat(row: Runs) -> plotly.graph_objects.Heatmap:
    low, high = _colors(row)
    return plotly.graph_objects.Heatmap(**_grid(row), zmin=low, zmax=high)


def _surface(row: Runs) -> plotly.graph_objects.Figure:
    low, high = _colors(row)
    drawn = plot(
        [plotly.graph_objects.Surface(**_grid(row), cmin=low, cmax=high)], "run", "iteration", height=480
    )
    titles = {"xaxis": "run", "yaxis": "iteration", "zaxis": "round, µs"}
    ink = {"color": "#808080"}  # of the drawing itself, which no style sheet reaches
    drawn.update_layout(scene={axis: {"title": {"text": title}, **ink} for axis, title in titles.items()})
    return drawn


def _colors(row: Runs) -> tuple[float, float]:
    binned, _, _ = maxima(row.ns, MOST_RUNS, MOST_BINS)
    return float(np.nanmin(binned) / 1000), float(np.nanquantile(binned, 0.999) / 1000)


def _fewest_hops(summary: Summary) -> list[Runs]:
    """The runs of the setting with most in it and the fewest hops: what the paper shows of one hop.

    Of programs those of every setting, as its figure 3 has them.
    """
    usable = [row for row in summary.runs.cells if row.ns.size]
    network = [row for row in usable if run_levels(row.setting).load == "network"] or usable
    first = min((row.setting for row in network), default=None)
    order = [platform.name for platform in summary.platforms]
    chosen = [row for row in network if row.setting == first or run_levels(row.setting).load == "program"]
    return sorted(chosen, key=lambda row: (row.setting, order.index(row.platform)))


def _title(row: Runs, rows: Sequence[Runs]) -> str:
    """Its platform, and its setting where there are several."""
    settings = {each.setting for each in rows}
    return row.platform if len(settings) == 1 else f"{row.platform}: {row.setting.label}"


def _what(rows: Sequence[Runs]) -> str:
    return f"{rows[0].setting.label}." if len({row.setting for row in rows}) == 1 else ""


def _of(rows: Sequence[Rounds], name: str) -> list[float | None]:
    return [{"median": row.p50_ns, "p99.9": row.p999_ns, "max": row.max_ns}[name] for row in rows]


def _microseconds(value_ns: float | None) -> float | None:
    return None if value_ns is None else round(value_ns / 1000, 4)
