"""All tables that a result may have, listed once: the chapters of a report and the terminal go by this list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from vtax.model.catalogue import Chapter
from vtax.model.table import Table
from vtax.views import (
    capacity_tables,
    cpu_tables,
    mode_tables,
    sharing_tables,
    tables,
    tax_tables,
    verdict_tables,
)
from vtax.views.cell_tables import added_tables, cell_tables
from vtax.views.interference_tables import interference_table, matrix_table, neighbours_table
from vtax.views.machine_tables import machines_table
from vtax.views.message_tables import message_sockets_table, messages_table
from vtax.views.published_table import published_table
from vtax.views.rounds_table import artifacts_table, ladder_table, rounds_table, run_time_table
from vtax.views.routers_table import routers_table
from vtax.views.stage_tables import packets_table, stages_table, tracing_table
from vtax.views.summary import Summary


@dataclass(frozen=True)
class Listed:
    """A table, where it is shown. A figure of the report has its own table beside it."""

    make: Callable[[Summary], Table]
    on_terminal: bool = True
    in_report: bool = True


_NOTHING = Table("", "", "", (), ())


def _of_chosen_loads(make: Callable[[Summary], Table]) -> Callable[[Summary], Table]:
    """Return what makes the table where the scenario chose the loads: those of a search are no level of anything."""
    return lambda summary: _NOTHING if summary.provenance.search else make(summary)


def _where_precise(make: Callable[[Summary], Table]) -> Callable[[Summary], Table]:
    """Return what makes the table of maxima where it was them that were repeated until their intervals were narrow."""
    return lambda summary: make(summary) if summary.provenance.precision.get("of") == "maximum" else _NOTHING


LISTED = {
    Chapter.NUMBERS: (
        Listed(_of_chosen_loads(tables.throughput_table), in_report=False),
        Listed(_of_chosen_loads(tables.delay_table), in_report=False),
        Listed(_of_chosen_loads(capacity_tables.limit_table)),
        Listed(lambda summary: tax_tables.tax_of_capacity(summary, emulated=True)),
        Listed(lambda summary: tax_tables.tax_by_load(summary, emulated=True)),
        Listed(_where_precise(tables.maximum_table), in_report=False),
        Listed(mode_tables.precision_table),
        Listed(sharing_tables.goodput_table),
        Listed(sharing_tables.scaling_table),
        Listed(published_table),
        Listed(matrix_table),
        Listed(neighbours_table),
        Listed(tables.stream_table, on_terminal=False),
        Listed(routers_table),
        Listed(message_sockets_table),
        Listed(machines_table, in_report=False),
    ),
    Chapter.LEDGER: (
        Listed(sharing_tables.guest_cpu_table),
        Listed(sharing_tables.guests_table, on_terminal=False),
        Listed(cpu_tables.cpu_table, on_terminal=False),
        Listed(cpu_tables.ledger_table, on_terminal=False),
    ),
    Chapter.HOPS: (Listed(tables.loss_table),),
    Chapter.STAGES: (Listed(stages_table), Listed(packets_table), Listed(tracing_table)),
    Chapter.ARTIFACTS: (Listed(artifacts_table), Listed(ladder_table), Listed(run_time_table)),
    Chapter.VERDICTS: (
        Listed(verdict_tables.verdict_table, on_terminal=False),
        Listed(verdict_tables.left_out_table),
    ),
    Chapter.TAX: (
        Listed(mode_tables.search_table),
        Listed(capacity_tables.capacity_table),
        Listed(tax_tables.tax_of_capacity),
        Listed(tax_tables.tax_by_load),
        Listed(sharing_tables.efficiency_table),
        Listed(messages_table),
        Listed(rounds_table),
        Listed(interference_table),
    ),
}
"""By chapter, in the order of the terminal, which has the tax last: there the eye is. A report begins with it."""


def report_tables(summary: Summary, chapter: Chapter) -> tuple[Table, ...]:
    """Return the chapter's tables that have rows."""
    listed = (each.make(summary) for each in LISTED[chapter] if each.in_report)
    return _filled([*listed, *_of_kind(summary, chapter)])


def terminal_tables(summary: Summary) -> Iterator[Table]:
    """Return the tables of all chapters that have rows, as the terminal prints them."""
    for chapter, listed in LISTED.items():
        yield from _filled(each.make(summary) for each in listed if each.on_terminal)
        yield from _filled(_of_kind(summary, chapter))


def _of_kind(summary: Summary, chapter: Chapter) -> list[Table]:
    """The tables that the kind of workload declares; what emulated platforms add is no tax."""
    own = cell_tables(summary, chapter)
    if chapter is Chapter.TAX:
        return [*own, *added_tables(summary)]
    return [*own, *(added_tables(summary, emulated=True) if chapter is Chapter.NUMBERS else ())]


def _filled(candidates: Iterable[Table]) -> tuple[Table, ...]:
    return tuple(table for table in candidates if table.size)
