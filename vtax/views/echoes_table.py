"""Round trips through one router among many, beside what the repeated paper prints."""

from __future__ import annotations

from vtax.views import numbers
from vtax.views.echoes import Echoes, PublishedRoundTrip
from vtax.views.layout import (
    Column,
    Number,
    Table,
    count,
    left_out,
    mean_number,
    published_sections,
    sections,
)
from vtax.views.paper import with_sources
from vtax.views.summary import Summary
from vtax.views.tables import LEFT_OUT, N, heading


def echoes_table(summary: Summary) -> Table:
    """A row a platform and number of routers, then the paper's on its own hardware."""
    rows = sorted(summary.echoes, key=lambda row: (row.setting, summary.emulated(row.platform)))
    return Table(
        name="echoes",
        title="Round trips through one router among many",
        note=with_sources(
            "Mean over the answered echoes, averaged over repetitions; beside is the total throughput of the other "
            "routers. raw with one guest is a plain router.",
            summary.published_round_trips,
        ),
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
            *sections(rows, lambda row: heading(summary, row), _measured),
            *published_sections(summary.published_round_trips, _published_heading, _published),
        ),
    )


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
