"""Response times over the length of requests, and what platforms add, beside what the repeated paper prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vtax.views import numbers
from vtax.views.estimate import Estimate
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
    published_sections,
    ranged_number,
    sections,
)
from vtax.views.paper import with_sources
from vtax.views.responses import AddedTime, PublishedTime, Responses
from vtax.views.summary import Summary
from vtax.views.tables import LEFT_OUT, REQUEST, N, heading

RESPONSE_TIME, ADDED = "response time", "added to the bare hosts'"
"""Quantities as the published ones are named."""


Measure = tuple[Column, Callable[[Responses], Cell]]
"""A column, and what it shows of a cell's requests."""


def responses_table(summary: Summary) -> Table:
    """A row a platform and length: the mean over repetitions and their standard deviation."""
    return _table(
        summary,
        "responses",
        "Response times",
        with_sources(
            "Mean over the answered requests, averaged over repetitions; s.d. is the standard deviation of the "
            "repetitions' means. raw is the bare hosts.",
            _printed(summary, RESPONSE_TIME),
        ),
        (
            _time("mean", lambda row: row.mean_ns),
            (
                Column("s.d.", "µs", numeric=True),
                lambda row: Number(
                    UNKNOWN if row.deviation_ns is None else numbers.microseconds(row.deviation_ns)
                ),
            ),
            (
                Column("failed", "%", numeric=True),
                lambda row: mean_number(row.failed_ratio, numbers.ratio_as_percent),
            ),
        ),
        _published(summary, RESPONSE_TIME, [Number("")] * 4),
    )


def response_quantiles_table(summary: Summary) -> Table:
    """The distribution within a repetition."""
    return _table(
        summary,
        "response-quantiles",
        "Response times within a repetition",
        "Means over repetitions. Quantiles are over all requests; a failed one counts as later than any answered one. "
        "The deviation is the standard deviation of the answered requests.",
        (
            _time("p50", lambda row: row.p50_ns),
            _time("p90", lambda row: row.p90_ns),
            _time("p99", lambda row: row.p99_ns),
            _time("deviation", lambda row: row.within_ns),
        ),
    )


def response_cpu_table(summary: Summary) -> Table:
    """How many are answered, what it takes of the guest's host, and what TCP sent again."""
    return _table(
        summary,
        "response-cpu",
        "Rate, CPU and retransmissions of requests",
        "CPU is the busy time of the CPUs of the server's guest and its host, as the kernel counts it; 100 = one CPU. "
        "Retransmissions are those of the client in a trial.",
        (
            (Column("answered", "1/s", numeric=True), lambda row: mean_number(row.per_s, numbers.whole)),
            (Column("CPU", "%", numeric=True), lambda row: mean_number(row.host_percent, numbers.percent)),
            (
                Column("retransmissions", "segments", numeric=True),
                lambda row: mean_number(row.retransmissions, numbers.mbps),
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


def _table(
    summary: Summary,
    name: str,
    title: str,
    note: str,
    measures: Sequence[Measure],
    published: Sequence[Section] = (),
) -> Table:
    """A row a platform and length with these measures, then what is published."""
    measured = sections(
        summary.responses,
        lambda row: heading(summary, row),
        lambda row: (
            row.platform,
            str(row.message_bytes),
            *(cell(row) for _, cell in measures),
            count(row.failed_ratio),
            left_out(row.left_out),
        ),
    )
    columns = (Column("platform"), REQUEST, *(column for column, _ in measures), N, LEFT_OUT)
    return Table(name, title, note, columns, (*measured, *published))


def _time(title: str, of: Callable[[Responses], Estimate | None]) -> Measure:
    return Column(title, "µs", numeric=True), lambda row: mean_number(of(row), numbers.microseconds)


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

    return published_sections(
        _printed(summary, quantity),
        lambda row: f"{row.placement}, {row.transport}, published ({row.section}): {row.hardware}",
        cells,
    )
