"""The tables people read: throughput by load and within goals, delay, losses; and the heads that tables share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.model.dimensions import load_label
from vtax.model.frames import frame_levels, loses_frames
from vtax.model.levels import Setting
from vtax.model.metrics import CARRIED_IN_FULL_LOSS_RATIO
from vtax.model.table import LEFT_OUT, UNKNOWN, Column, Entry, N, Number, Table, count, left_out, sections
from vtax.model.table import mean_number as mean
from vtax.model.table import ranged_number as ranged
from vtax.views.delay import QUANTILES, DelayPercentile
from vtax.views.summary import Summary
from vtax.views.throughput import Maximum, Throughput

MAXIMUM_OVER_LOADS = "The largest over the loads; its interval allows for the load having been picked."
_OVERLOAD = "overload"
LEGEND = (
    "Brackets and ± are 95% intervals; n counts repetitions; left out is the share of invalid trials. "
    "(2 apart): two repetitions lie far from the others; then values are medians, but those of loss and CPU time. "
    "of a, b, c: all repetitions, where some of few do. "
    f"≥: a lower bound; a trial lost at most {CARRIED_IN_FULL_LOSS_RATIO:.1%}, its load set by "
    f"{Limit.GENERATOR}, {Limit.LINK}, {Limit.OFFERED} or {Limit.UNKNOWN}, "
    "or the mean of those answers that came. "
    "≤: an upper bound; the reference is a lower bound. withheld: both sides are lower bounds."
)

EMULATED_HEADING = "emulated CPU"
_LOST = "lost"
_LATE = "source late"

LOAD = Column("load", "Mbit/s")
GUESTS = Column("guests")
REQUEST = Column("request", "byte")


class _Measured(Protocol):
    @property
    def platform(self) -> str: ...
    @property
    def setting(self) -> Setting: ...


Row = TypeVar("Row", bound=_Measured)


def by_setting(rows: Iterable[Row]) -> list[Row]:
    """Rows in the order of their settings; within one the order platform, load stays, the emulated group comes last.

    Traced cells have settings of another kind, and come after all others or before them.
    """
    return sorted(rows, key=lambda row: (type(row.setting.levels).__name__, row.setting))


def heading(summary: Summary, row: _Measured) -> str:
    """A section's title; emulated platforms have sections of their own."""
    group = f": {EMULATED_HEADING}" if summary.emulated(row.platform) else ""
    return f"{row.setting.label}{group}"


def level_column(summary: Summary) -> Column:
    """The head of what cells of a setting differ by; empty where the setting says it all."""
    dimension = summary.catalogue.reading.dimension if summary.catalogue else None
    return Column(dimension.title, dimension.unit) if dimension else Column("")


def maximum_table(summary: Summary) -> Table:
    """Maximum accumulated throughput with that of each stream beneath it."""

    def rows(maximum: Maximum) -> list[Sequence[Entry]]:
        received = maximum.received_mbps
        share = left_out(received.left_out)
        lines: list[Sequence[Entry]] = [
            (
                maximum.platform,
                load_label(maximum.intended_mbps),
                mean(received, numbers.mbps),
                mean(maximum.loss_ratio, numbers.ratio_as_percent),
                count(received),
                share,
            )
        ]
        if frame_levels(maximum.setting).streams > 1:
            lines += [
                (
                    f"  stream {stream}",
                    "",
                    mean(estimate, numbers.mbps),
                    Number(""),
                    count(estimate),
                    share,
                )
                for stream, estimate in maximum.stream_received_mbps.items()
            ]
        return lines

    lines = [(maximum, line) for maximum in by_setting(summary.loads.maxima) for line in rows(maximum)]
    return Table(
        name="maximum",
        title="Maximum accumulated throughput",
        note=f"{MAXIMUM_OVER_LOADS} Whatever was lost: where much was, the load was an overload.",
        columns=(
            Column("platform"),
            Column("at load", "Mbit/s"),
            Column("received", "Mbit/s", numeric=True),
            Column("loss", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            lines, lambda row: heading(summary, row[0]), lambda row: row[1], lambda row: row[0].key
        ),
    )


def throughput_table(summary: Summary) -> Table:
    """Offered and received load, accumulated over the streams, by platform and intended load."""

    def row(found: Throughput) -> Sequence[Entry]:
        return (
            found.platform,
            load_label(found.intended_mbps),
            mean(found.offered_mbps, numbers.mbps),
            mean(found.received_mbps, numbers.mbps),
            mean(found.loss_ratio, numbers.ratio_as_percent),
            count(found.received_mbps),
            left_out(found.received_mbps.left_out),
            ", ".join([*found.marks, *([_OVERLOAD] if loses_frames(found.cell) else [])]),
        )

    return Table(
        name="throughput",
        title="Throughput by load",
        note=f"Sum over the streams at layer 1; the load is that of one stream. {_OVERLOAD.capitalize()}: more than "
        f"{CARRIED_IN_FULL_LOSS_RATIO:.1%} lost.",
        columns=(
            Column("platform"),
            LOAD,
            Column("offered", "Mbit/s", numeric=True),
            Column("received", "Mbit/s", numeric=True),
            Column("loss", "%", numeric=True),
            N,
            LEFT_OUT,
            Column("marks"),
        ),
        sections=sections(by_setting(summary.loads.throughput), lambda found: heading(summary, found), row),
    )


def stream_table(summary: Summary) -> Table:
    """What each stream received at each load, where there is more than one."""
    rows = [
        (found, stream, estimate)
        for found in by_setting(summary.loads.throughput)
        if frame_levels(found.setting).streams > 1
        for stream, estimate in found.stream_received_mbps.items()
    ]
    return Table(
        name="streams",
        title="Throughput of each stream",
        note="",
        columns=(
            Column("platform"),
            LOAD,
            Column("stream"),
            Column("received", "Mbit/s", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            rows,
            lambda row: heading(summary, row[0]),
            lambda row: (
                row[0].platform,
                load_label(row[0].intended_mbps),
                str(row[1]),
                mean(row[2], numbers.mbps),
                count(row[2]),
                left_out(row[2].left_out),
            ),
            lambda row: row[0].key,
        ),
    )


def delay_table(summary: Summary) -> Table:
    """One-way delay quantiles, a column each, merged over repetitions."""
    by_cell: dict[tuple[str, Setting, float | None, str], dict[str, DelayPercentile]] = {}
    for found in by_setting(summary.loads.percentiles):
        key = (found.platform, found.setting, found.intended_mbps, found.uut_context)
        by_cell.setdefault(key, {})[found.label] = found

    def row(quantiles: dict[str, DelayPercentile]) -> Sequence[Entry]:
        first = next(iter(quantiles.values()))
        known = next((found.delay_ns for found in quantiles.values() if found.delay_ns), None)
        return (
            first.platform,
            load_label(first.intended_mbps),
            *(_delay(quantiles.get(label)) for label in QUANTILES),
            count(known),
            left_out(known.left_out) if known else Number(UNKNOWN),
        )

    return Table(
        name="delay",
        title="One-way delay",
        note="Quantiles of the probes of all streams: the geometric mean over repetitions, with intervals of the "
        "logarithms. Quantile q needs 10 / (1 − q) probes; lost probes count as later than any received one. "
        f"{UNKNOWN} {_LOST}: too many probes were lost for this quantile. "
        f"∞: the upper bound exceeds {numbers.BEYOND_USE:,} times the quantile."
        + _too_late(summary.loads.percentiles)
        + _clocks(summary.loads.percentiles),
        columns=(
            Column("platform"),
            LOAD,
            *(Column(label, "µs", numeric=True) for label in QUANTILES),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            by_cell.values(),
            lambda quantiles: heading(summary, next(iter(quantiles.values()))),
            row,
            lambda quantiles: next(iter(quantiles.values())).key,
        ),
    )


def _delay(found: DelayPercentile | None) -> Number:
    """A quantile; a dash where too few probes were sent for it, and why where too many were lost or sources late."""
    if found is not None and found.delay_ns is None:
        return Number(UNKNOWN, _LATE if found.late and not found.lost else _LOST)
    return ranged(found.delay_ns if found else None, numbers.microseconds)


def _too_late(percentiles: Iterable[DelayPercentile]) -> str:
    """How many quantiles are of fewer repetitions, since sources were late; empty where none is."""
    late = [found for found in percentiles if found.late]
    if not late:
        return ""
    return (
        f" {UNKNOWN} {_LATE}: in all repetitions frames left the source as late as they took from there. "
        f"{sum(found.late for found in late)} repetitions are left out for that, of {len(late)} quantiles."
    )


def _clocks(percentiles: Iterable[DelayPercentile]) -> str:
    """By how much all may be wrong alike, where source and sink have clocks of their own; empty where they have not."""
    most = max((found.clock_error_ns for found in percentiles), default=0.0)
    if not most:
        return ""
    return (
        " Source and sink have separate clocks: all delays may share an error of up to "
        f"{numbers.microseconds(most)} µs, which the intervals include."
    )


def loss_table(summary: Summary) -> Table:
    """Where frames were lost, by load and hop."""
    return Table(
        name="losses",
        title="Frame loss by hop",
        note="Share of the frames sent in all phases of a trial that reached this hop but not the next one.",
        columns=(
            Column("platform"),
            LOAD,
            Column("hop"),
            Column("lost", "%", numeric=True),
            N,
            LEFT_OUT,
            Column("counter"),
        ),
        sections=sections(
            by_setting(summary.loads.losses),
            lambda loss: heading(summary, loss),
            lambda loss: (
                loss.platform,
                load_label(loss.intended_mbps),
                loss.hop,
                mean(loss.ratio, numbers.ratio_as_percent),
                count(loss.ratio),
                left_out(loss.ratio.left_out),
                loss.reason or "none",
            ),
        ),
    )
