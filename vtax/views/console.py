"""A result on the terminal: tables first, the answer last, where the eye is."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from vtax.views import tables
from vtax.views.layout import Cell, Number, Table
from vtax.views.summary import Summary

ROWS_AT_MOST = 60
"""A longer table is left to the report: nobody reads it while it scrolls by."""

WIDTH = 100


def print_summary(summary: Summary, console: Console) -> None:
    """Print tables, caveats and one sentence a platform, at most 100 columns wide."""
    width = min(console.width, WIDTH)
    _print_head(summary, console, width)
    for table in (
        tables.throughput_table(summary),
        tables.delay_table(summary),
        tables.maximum_table(summary),
        tables.tax_of_maximum(summary),
        tables.tax_by_load(summary),
        tables.tax_of_maximum(summary, emulated=True),
        tables.tax_by_load(summary, emulated=True),
        tables.left_out_table(summary),
    ):
        _print_table(table, console, width)
    _print_points(
        "Not to be trusted, and why",
        [(caveat.subject, caveat.text) for caveat in summary.caveats],
        console,
        width,
    )
    _print_points(
        "What it costs",
        [(_with_group(sentence.platform, sentence.group), sentence.text) for sentence in summary.sentences],
        console,
        width,
    )


def _print_head(summary: Summary, console: Console, width: int) -> None:
    origin, totals = summary.provenance, summary.verdict_totals
    console.print(Text(origin.title or origin.name, style="bold"), width=width)
    if origin.question:
        console.print(Text(origin.question), width=width)
    counts = ", ".join(f"{trials} {verdict}" for verdict, trials in totals.items())
    line = f"{origin.name} · {origin.status} · {origin.recorded_trials} trials: {counts} · seed {origin.seed}"
    console.print(Text(line, style="dim"), width=width)
    if summary.throughput:
        console.print(Text(tables.LEGEND, style="dim"), width=width)


def _print_table(table: Table, console: Console, width: int) -> None:
    if not table.size:
        return
    console.print()
    console.print(Text(table.title, style="bold"), width=width)
    if table.note:
        console.print(Text(table.note, style="dim"), width=width)
    if table.size > ROWS_AT_MOST:
        console.print(
            Text(f"{table.size} rows: see the report, `vtax show --json` or `vtax sql`.", style="dim"),
            width=width,
        )
        return
    for section in table.sections:
        if section.title:
            console.print(Text(section.title, style="italic"), width=width)
        grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
        split = [
            column.numeric and any(_interval(row[index]) for row in section.rows)
            for index, column in enumerate(table.columns)
        ]
        for column, has_interval in zip(table.columns, split, strict=True):
            head = Text(column.title + (f"\n{column.unit}" if column.unit else ""))
            grid.add_column(head, justify="right" if column.numeric else "left", no_wrap=column.numeric)
            if has_interval:
                grid.add_column("", style="dim", no_wrap=True)
        for row in section.rows:
            cells: list[Text] = []
            for cell, has_interval in zip(row, split, strict=True):
                cells.append(Text(cell.text if isinstance(cell, Number) else cell))
                if has_interval:
                    cells.append(Text(_interval(cell)))
            grid.add_row(*cells)
        console.print(grid, width=width)


def _interval(cell: Cell) -> str:
    return cell.interval if isinstance(cell, Number) else ""


def _print_points(title: str, points: list[tuple[str, str]], console: Console, width: int) -> None:
    if not points:
        return
    console.print()
    console.print(Text(title, style="bold"), width=width)
    for subject, text in points:
        line = Text.assemble((f"{subject}: ", "bold"), text)
        console.print(Padding(line, (0, 0, 0, 2)), width=width)


def _with_group(platform: str, group: str) -> str:
    return f"{platform} (emulated CPU)" if group == "emulated" else platform
