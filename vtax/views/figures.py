"""The figures of schlosser2011 section 4, and one-way delay and loss beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from pydantic import JsonValue

from vtax.model import numbers
from vtax.model.dimensions import LOAD, load_label, load_phrase
from vtax.model.estimate import Estimate
from vtax.model.frames import frame_levels, without_streams
from vtax.model.levels import Setting
from vtax.views import (
    interference_figures,  # noqa: F401 - registers its own
    message_figures,  # noqa: F401 - registers its own
    response_figures,  # noqa: F401 - registers its own
    round_figures,  # noqa: F401 - registers its own
    sharing_figures,  # noqa: F401 - registers its own
    stage_figures,  # noqa: F401 - registers its own
    tables,
)
from vtax.views.delay import DelayPercentile
from vtax.views.figure import Figure, Panel, check_figures, draw_figures, figure, figure_names, plot
from vtax.views.palette import Style, styles
from vtax.views.summary import Summary
from vtax.views.throughput import Maximum, Throughput
from vtax.views.traces import (
    MBPS_RECEIVED,
    PERCENT_LOST,
    Point,
    Quantity,
    Trace,
    bars,
    delay_quantity,
    diagonal,
    dodged_points,
    line,
)

__all__ = ["check_figures", "draw_figures", "figure_names"]

_BARS = "Error bars: 95% intervals."
_DASHED = "Dashed: emulated CPU."
_LIMITED = "Hollow: generator-limited; a higher load might show more."


class Plotted(Protocol):
    """What every row of view data has."""

    @property
    def platform(self) -> str:
        """The platform's name."""

    @property
    def setting(self) -> Setting:
        """The row's setting."""

    @property
    def key(self) -> str:
        """The key of its cell."""


Row = TypeVar("Row", bound=Plotted)
Draw = Callable[[str, Style, Sequence[Point], Quantity], Trace]


@figure("throughput-by-load")
def throughput_by_load(summary: Summary) -> Figure:
    """Offered against measured throughput, a panel a frame size, a line a platform (schlosser2011 Fig. 3)."""
    rows = _fewest_streams(summary.loads.throughput)
    panels = []
    for setting, here in _by_setting(rows):
        reach = 1.04 * max(max(row.offered_mbps.value, row.received_mbps.value) for row in here)
        lines = _traces(
            summary,
            here,
            line,
            MBPS_RECEIVED,
            lambda row: [Point(row.offered_mbps.value, row.received_mbps, _at(row), _is_hollow(row))],
        )
        offered: dict[str, JsonValue] = {"range": [0, reach], "nticks": 6}
        received: dict[str, JsonValue] = {
            "range": [0, max(reach, *(1.04 * _whisker(row.received_mbps) for row in here))],
            "nticks": 6,
        }
        drawn = plot(
            [diagonal(reach), *lines],
            f"offered load, {numbers.L1_MBPS}",
            f"received, {numbers.L1_MBPS}",
            xaxis=offered,
            yaxis=received,
        )
        panels.append(Panel(setting.label, drawn))
    return Figure(
        name="throughput-by-load",
        title="Throughput by offered load",
        caption=f"{_BARS} Hollow: lower bound set by the source. {_DASHED} Thin diagonal: no loss.",
        panels=tuple(panels),
        platforms=_present(summary, rows),
        table=tables.throughput_table(summary),
    )


def _whisker(estimate: Estimate) -> float:
    """How far up it is drawn: a whisker that is longer than its point is high would leave the points no room."""
    high = estimate.high or estimate.value
    return min(high if math.isfinite(high) else estimate.value, 2 * estimate.value)


@figure("maximum-by-streams")
def maximum_by_streams(summary: Summary) -> Figure:
    """Maximum accumulated throughput by streams, each stream's beside it (schlosser2011 Fig. 4)."""
    rows = summary.loads.maxima
    panels = []
    for size in dict.fromkeys(without_streams(row.setting) for row in sorted(rows, key=lambda r: r.setting)):
        here = [row for row in rows if without_streams(row.setting) == size]
        accumulated = _traces(
            summary,
            here,
            bars,
            MBPS_RECEIVED,
            lambda row: [Point(str(_streams(row)), row.received_mbps, _at(row), _is_hollow(row))],
        )
        each = _traces(
            summary,
            here,
            dodged_points,
            MBPS_RECEIVED,
            lambda row: [
                Point(str(_streams(row)), received, _at(row), _is_hollow(row), f"stream {stream}")
                for stream, received in row.stream_received_mbps.items()
            ],
        )
        streams = [str(count) for count in sorted({_streams(row) for row in here})]
        axes: dict[str, JsonValue] = {
            "xaxis": {"type": "category", "categoryarray": [*streams], "showgrid": False},
            "yaxis": {"rangemode": "tozero", "nticks": 6},
        }
        side_by_side: dict[str, JsonValue] = {"barmode": "group", "bargap": 0.28, "bargroupgap": 0.08}
        in_lanes: dict[str, JsonValue] = {"scattermode": "group", "scattergap": 0.28}
        for title, traces, mode in (
            ("accumulated", accumulated, side_by_side),
            ("each stream", each, in_lanes),
        ):
            drawn = plot(traces, "streams", f"received, {numbers.L1_MBPS}", **axes, **mode)
            panels.append(Panel(f"{size}, {title}", drawn, row=size))
    return Figure(
        name="maximum-by-streams",
        title="Maximum accumulated throughput",
        caption=f"{tables.MAXIMUM_OVER_LOADS} {_BARS} Empty: lower bound set by the source. "
        "Hatched: emulated CPU. Light hatching: emulated CPU and lower bound. Streams are shown at that same load.",
        panels=tuple(panels),
        platforms=_present(summary, rows),
        table=tables.maximum_table(summary),
    )


@figure("delay-percentiles")
def delay_percentiles(summary: Summary) -> Figure:
    """One-way delay quantiles by intended load, a panel a quantile and frame size."""
    rows = [row for row in _fewest_streams(summary.loads.percentiles) if row.delay_ns]
    panels = []
    for setting, here in _by_setting(rows):
        for label in dict.fromkeys(row.label for row in here):
            lines = _traces(
                summary,
                [row for row in here if row.label == label],
                line,
                delay_quantity(label),
                lambda row: [
                    Point(load_label(row.intended_mbps), delay, _at(row), row.generator_limited)
                    for delay in [row.delay_ns]
                    if delay
                ],
            )
            drawn = plot(
                lines,
                f"intended load, {numbers.L1_MBPS} per stream",
                "one-way delay, µs",
                xaxis=_load_axis(here),
                yaxis={"type": "log", "dtick": 1, "exponentformat": "none", "separatethousands": True},
            )
            panels.append(Panel(f"{setting.label}, {label}", drawn, row=setting.label))
    return Figure(
        name="delay-percentiles",
        title="One-way delay",
        caption=f"{_BARS} No bar: the interval has no upper bound. {_LIMITED} {_DASHED} The delay axis is logarithmic. "
        "Probe frames, merged over repetitions; lost probes count as later than any received one.",
        panels=tuple(panels),
        platforms=_present(summary, rows),
        table=tables.delay_table(summary),
    )


@figure("loss-by-load")
def loss_by_load(summary: Summary) -> Figure:
    """Frame loss ratio by intended load, a panel a frame size."""
    rows = [row for row in _fewest_streams(summary.loads.throughput) if row.loss_ratio]
    panels = []
    for setting, here in _by_setting(rows):
        lines = _traces(
            summary,
            here,
            line,
            PERCENT_LOST,
            lambda row: [
                Point(load_label(row.intended_mbps), loss, _at(row), row.generator_limited)
                for loss in [row.loss_ratio]
                if loss
            ],
        )
        most = max(
            1.0, *(100 * (row.loss_ratio.high or row.loss_ratio.value) for row in here if row.loss_ratio)
        )
        drawn = plot(
            lines,
            f"intended load, {numbers.L1_MBPS} per stream",
            "frames lost, %",
            xaxis=_load_axis(here),
            yaxis={"range": [-0.04 * most, 1.06 * most], "nticks": 6},
        )
        panels.append(Panel(setting.label, drawn))
    return Figure(
        name="loss-by-load",
        title="Frame loss",
        caption=f"{_BARS} {_LIMITED} {_DASHED} Frames that the source could not send do not count as lost.",
        panels=tuple(panels),
        platforms=_present(summary, rows),
        table=tables.throughput_table(summary),
    )


def _fewest_streams(rows: Sequence[Row]) -> list[Row]:
    fewest = min(map(_streams, rows), default=1)
    return [row for row in rows if _streams(row) == fewest]


def _streams(row: Plotted) -> int:
    return frame_levels(row.setting).streams


def _by_setting(rows: Iterable[Row]) -> list[tuple[Setting, list[Row]]]:
    grouped: dict[Setting, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.setting, []).append(row)
    return sorted(grouped.items())


def _traces(
    summary: Summary,
    rows: Sequence[Row],
    draw: Draw,
    quantity: Quantity,
    points: Callable[[Row], list[Point]],
) -> list[Trace]:
    """A trace a platform, in the campaign's order."""
    return [
        draw(
            platform,
            style,
            [
                replace(point, key=row.key)
                for row in rows
                if row.platform == platform
                for point in points(row)
            ],
            quantity,
        )
        for platform, style in styles(summary.platforms).items()
        if any(row.platform == platform for row in rows)
    ]


def _is_hollow(row: Throughput | Maximum) -> bool:
    """Plateaus that a faster source would move are; those of the link are drawn like any measured point."""
    return row.limit is not None and row.limit.is_instrument


def _at(row: Throughput | Maximum | DelayPercentile) -> str:
    return f"at {load_phrase(row.intended_mbps)}"


def _load_axis(rows: Iterable[Throughput | DelayPercentile]) -> dict[str, JsonValue]:
    loads = sorted({row.intended_mbps for row in rows}, key=LOAD.order)
    labels = [load_label(load) for load in loads]
    return {"type": "category", "categoryorder": "array", "categoryarray": [*labels]}


def _present(summary: Summary, rows: Iterable[Plotted]) -> tuple[str, ...]:
    measured = {row.platform for row in rows}
    return tuple(platform.name for platform in summary.platforms if platform.name in measured)
