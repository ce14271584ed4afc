"""Tables whose rows are cells, as the kind of workload declares them."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.against import Added
from vtax.model.catalogue import AddedTable, Catalogue, CellTable, Chapter
from vtax.model.cell import Cell
from vtax.model.published import with_sources
from vtax.model.table import (
    LEFT_OUT,
    Column,
    Entry,
    N,
    Table,
    count,
    left_out,
    published_sections,
    ranged_number,
    sections,
)
from vtax.views.summary import Summary
from vtax.views.tables import by_setting, heading


def cell_tables(summary: Summary, *chapters: Chapter) -> list[Table]:
    """Return the kind's tables of some chapters, in its catalogue's order."""
    return [_table(summary, each) for each in summary.catalogue.tables if each.chapter in chapters]


def cell_table(summary: Summary, name: str) -> Table:
    """Return the kind's table of that name; one without columns where it has none."""
    for declared in summary.catalogue.tables:
        if declared.name == name:
            return _table(summary, declared)
    return Table(name, "", "", (), ())


def added_tables(summary: Summary, *, emulated: bool = False) -> list[Table]:
    """Return the kind's tables of what was added to a reference, for one of the two groups of platforms."""
    return [_added(summary, each, emulated) for each in summary.catalogue.added]


def _table(summary: Summary, declared: CellTable) -> Table:
    def row(cell: Cell) -> Sequence[Entry]:
        return (
            cell.platform,
            *_level(cell),
            *(column.entry(cell) for column in declared.columns),
            count(cell.estimate(declared.n_of)),
            left_out(cell.left_out),
        )

    published = declared.published
    printed = summary.published.get(declared.name, ())
    return Table(
        name=declared.name,
        title=declared.title,
        note=with_sources(declared.note, [row["source"] for row in printed]),
        columns=(
            Column("platform"),
            *_level_column(summary.catalogue),
            *(column.head for column in declared.columns),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(by_setting(summary.measured), lambda cell: heading(summary, cell), row),
            *(published_sections(printed, published.heading, published.entries) if published else ()),
        ),
    )


def _added(summary: Summary, declared: AddedTable, emulated: bool) -> Table:
    rows = [row for row in summary.added[declared.name] if summary.emulated(row.cell.platform) is emulated]
    published = declared.published
    printed = () if emulated else summary.published.get(declared.name, ())

    def row(row: Added) -> Sequence[Entry]:
        return (
            row.cell.platform,
            *_level(row.cell),
            ranged_number(row.added, numbers.signed(declared.metric.form)),
            count(row.added),
            left_out(row.added.left_out),
            row.reference,
        )

    return Table(
        name=f"{declared.name}-emulated" if emulated else declared.name,
        title=declared.title,
        note=with_sources(declared.note, [row["source"] for row in printed]),
        columns=(
            Column("platform"),
            *_level_column(summary.catalogue),
            Column(declared.column, declared.metric.unit, numeric=True),
            N,
            LEFT_OUT,
            Column("to"),
        ),
        sections=(
            *sections(rows, lambda each: heading(summary, each.cell), row),
            *(
                published_sections(printed, published.heading, published.entries)
                if published and rows
                else ()
            ),
        ),
    )


def _level_column(catalogue: Catalogue) -> tuple[Column, ...]:
    """The head of what cells of a setting differ by; none where the setting says it all."""
    dimension = catalogue.reading.dimension
    return (Column(dimension.title, dimension.unit),) if dimension else ()


def _level(cell: Cell) -> tuple[str, ...]:
    return (cell.level_label,) if cell.reading.dimension else ()
