"""Round trips through one router among many, beside what the repeated paper prints."""

from __future__ import annotations

from vtax.views import numbers
from vtax.views.echoes import Echoes, PublishedRoundTrip
from vtax.views.layout import Column, Number, Table, count, left_out, mean_number, sections
from vtax.views.summary import Summary
from vtax.views.tables import EMULATED_HEADING, LEFT_OUT, N


def echoes_table(summary: Summary) -> Table:
    """A row a platform and number of routers, then the paper's on its own hardware."""
    rows = sorted(summary.echoes, key=lambda row: (row.setting, summary.emulated(row.platform)))
    sources = "; ".join(dict.fromkeys(row.source for row in summary.published_round_trips))
    printed = f" Published numbers are of other hardware: no ratio is formed. {sources}." if sources else ""
    return Table(
        name="echoes",
        title="Round trips through one router among many",
        note="Mean over the echoes that were answered, in the mean over repetitions; beside is what the other routers "
        f"forward together. raw with one guest is a plain router.{printed}",
        columns=(
            Column("platform"),
            Column("guests", numeric=True),
            Column("round trip", "µs", numeric=True),
            Column("lost", "%", numeric=True),
            Column("beside", "Mbit/s", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(rows, lambda row: _heading(summary, row), _measured),
            *sections(summary.published_round_trips, _published_heading, _published),
        ),
    )


def _heading(summary: Summary, row: Echoes) -> str:
    return row.setting.label + (f": {EMULATED_HEADING}" if summary.emulated(row.platform) else "")


def _measured(row: Echoes) -> tuple[str | Number, ...]:
    return (
        row.platform,
        Number(str(row.guests)),
        mean_number(row.mean_ns, numbers.microseconds),
        mean_number(row.loss_ratio, numbers.ratio_as_percent),
        mean_number(row.beside_mbps, numbers.mbps),
        count(row.loss_ratio),
        left_out(row.left_out),
    )


def _published_heading(row: PublishedRoundTrip) -> str:
    beside = "idle" if row.others == "idle" else "forwarding TCP"
    return f"others {beside}, published ({row.section}): {row.hardware}"


def _published(row: PublishedRoundTrip) -> tuple[str | Number, ...]:
    nothing = Number("")
    round_trip = Number(numbers.microseconds(float(row.round_trip_ms) * 1e6))
    return (row.setup, Number(row.guests), round_trip, nothing, nothing, nothing, nothing)
