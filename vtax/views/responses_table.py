"""Response times over the length of requests, and what platforms add, beside what the repeated paper prints."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.views import numbers
from vtax.views.layout import (
    UNKNOWN,
    Cell,
    Column,
    Number,
    Section,
    Table,
    count,
    left_out,
    mean_number,
    ranged_number,
    sections,
)
from vtax.views.paper import with_sources
from vtax.views.responses import AddedTime, PublishedTime
from vtax.views.summary import Summary
from vtax.views.tables import LEFT_OUT, REQUEST, N, heading

RESPONSE_TIME, ADDED = "response time", "added to the bare hosts'"
"""Quantities as the published ones are named."""


def responses_table(summary: Summary) -> Table:
    """A row a platform and length: the mean over repetitions and their standard deviation."""
    return Table(
        name="responses",
        title="Response times",
        note=with_sources(
            "Mean over the requests that were answered, in the mean over repetitions; s.d. is the standard deviation "
            "of the repetitions' means. raw is the bare hosts.",
            _printed(summary, RESPONSE_TIME),
        ),
        columns=(
            Column("platform"),
            REQUEST,
            Column("mean", "µs", numeric=True),
            Column("s.d.", "µs", numeric=True),
            Column("failed", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(
                summary.responses,
                lambda row: heading(summary, row),
                lambda row: (
                    row.platform,
                    str(row.message_bytes),
                    mean_number(row.mean_ns, numbers.microseconds),
                    Number(UNKNOWN if row.deviation_ns is None else numbers.microseconds(row.deviation_ns)),
                    mean_number(row.failed_ratio, numbers.ratio_as_percent),
                    count(row.failed_ratio),
                    left_out(row.left_out),
                ),
            ),
            *_published(summary, RESPONSE_TIME, [Number("")] * 4),
        ),
    )


def response_quantiles_table(summary: Summary) -> Table:
    """The distribution within a repetition."""
    return Table(
        name="response-quantiles",
        title="Response times within a repetition",
        note="Means over repetitions. Quantiles are over all requests, a failed one is later than every other; the "
        "deviation is the standard deviation of those that were answered.",
        columns=(
            Column("platform"),
            REQUEST,
            Column("p50", "µs", numeric=True),
            Column("p90", "µs", numeric=True),
            Column("p99", "µs", numeric=True),
            Column("deviation", "µs", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            summary.responses,
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                str(row.message_bytes),
                mean_number(row.p50_ns, numbers.microseconds),
                mean_number(row.p90_ns, numbers.microseconds),
                mean_number(row.p99_ns, numbers.microseconds),
                mean_number(row.within_ns, numbers.microseconds),
                count(row.failed_ratio),
                left_out(row.left_out),
            ),
        ),
    )


def added_times_table(summary: Summary, emulated: bool = False) -> Table:
    """What a platform's mean is longer than its reference's, for one of the two groups."""
    rows = [row for row in summary.added_times if summary.emulated(row.platform) is emulated]
    return Table(
        name="added-times-emulated" if emulated else "added-times",
        title="Response time added",
        note=with_sources(
            "Difference of the mean response times, paired within blocks.",
            () if emulated else _printed(summary, ADDED),
        ),
        columns=(
            Column("platform"),
            REQUEST,
            Column("added", "µs", numeric=True),
            N,
            LEFT_OUT,
            Column("to"),
        ),
        sections=(
            *sections(rows, lambda row: heading(summary, row), _added),
            *(() if emulated or not rows else _published(summary, ADDED, [Number(""), Number(""), ""])),
        ),
    )


def response_cpu_table(summary: Summary) -> Table:
    """How many are answered, what it takes of the guest's host, and what TCP sent again."""
    return Table(
        name="response-cpu",
        title="Rate, CPU and retransmissions of requests",
        note="CPU is all but idle time of the CPUs of the answering guest and its host, as the kernel counts it; 100 = "
        "one CPU. Retransmissions are the asking end's in a trial.",
        columns=(
            Column("platform"),
            REQUEST,
            Column("answered", "1/s", numeric=True),
            Column("CPU", "%", numeric=True),
            Column("retransmissions", "segments", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            summary.responses,
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                str(row.message_bytes),
                mean_number(row.per_s, numbers.whole),
                mean_number(row.host_percent, numbers.percent),
                mean_number(row.retransmissions, numbers.mbps),
                count(row.failed_ratio),
                left_out(row.left_out),
            ),
        ),
    )


def _added(row: AddedTime) -> Sequence[Cell]:
    return (
        row.platform,
        str(row.message_bytes),
        ranged_number(row.added_ns, numbers.signed(numbers.microseconds)),
        count(row.added_ns),
        left_out(row.added_ns.left_out),
        row.reference,
    )


def _printed(summary: Summary, quantity: str) -> list[PublishedTime]:
    return [row for row in summary.published_times if row.quantity == quantity]


def _published(summary: Summary, quantity: str, rest: Sequence[Cell]) -> tuple[Section, ...]:
    """The paper's rows, a section a figure; `rest` are the columns behind the time."""

    def cells(row: PublishedTime) -> Sequence[Cell]:
        time = " ".join(filter(None, (row.relation, numbers.microseconds(float(row.value_ms) * 1e6))))
        return (row.setup, row.messages, Number(time), *rest)

    return sections(
        _printed(summary, quantity),
        lambda row: f"{row.placement}, {row.transport}, published ({row.section}): {row.hardware}",
        cells,
    )
