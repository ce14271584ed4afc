"""Paragraphs, tables and points on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from vtax.model.table import Table, interval_of, text_of
from vtax.text_table import TextTable

ROWS_AT_MOST = 60
"""A longer table is left to the report: nobody reads it while it scrolls by."""

WIDTH = 100


class Page:
    """The console, narrowed to a width that is read well."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, WIDTH)

    def line(self, text: str = "", style: str = "") -> None:
        """A paragraph."""
        self.console.print(Text(text, style=style), width=self.width)


def print_table(table: Table, page: Page, rows_at_most: float = ROWS_AT_MOST) -> None:
    """A table in the page's width; one without rows leaves nothing, one with too many its head."""
    if not table.size:
        return
    page.line()
    page.line(table.title, "bold")
    if table.note:
        page.line(table.note, "dim")
    if table.size > rows_at_most:
        page.line(
            f"{table.size} rows, too many to print: see the report, `vtax show --json` or `vtax sql`.", "dim"
        )
        return
    heads = [f"{column.title}\n{column.unit}" if column.unit else column.title for column in table.columns]
    lines = iter(_aligned(table))
    sections = [(section.title, [next(lines) for _ in section.rows]) for section in table.sections]
    TextTable(heads, [column.numeric for column in table.columns], sections).print(page.console, page.width)


def _aligned(table: Table) -> list[list[str]]:
    """Rows as text, with the values and the intervals of each column padded to align over all sections."""
    rows = [row for section in table.sections for row in section.rows]
    columns = []
    for index, column in enumerate(table.columns):
        values = [text_of(row[index]) for row in rows]
        intervals = [interval_of(row[index]) for row in rows]
        if column.numeric:
            width = max(map(len, values)) if any(intervals) else max(len(column.title), *map(len, values))
            values = [value.rjust(width) for value in values]
        columns.append(
            [f"{value} {interval}".rstrip() for value, interval in zip(values, intervals, strict=True)]
        )
    return [list(line) for line in zip(*columns, strict=True)]


def print_points(title: str, points: list[tuple[str, str]], page: Page) -> None:
    """Paragraphs, each with its subject in bold; none leave nothing."""
    if not points:
        return
    page.line()
    page.line(title, "bold")
    for subject, text in points:
        line = Text.assemble((subject, "bold"), text)
        page.console.print(Padding(line, (0, 0, 0, 2)), width=page.width)
