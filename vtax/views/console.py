"""A result on the terminal: tables first, the answer last, where the eye is."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from vtax.model.platform import EMULATED_LABEL
from vtax.model.table import Table, interval_of, text_of
from vtax.text_table import TextTable
from vtax.views import sharing_tables, tables
from vtax.views.contents import terminal_tables
from vtax.views.diagnosis import Diagnosis
from vtax.views.summary import Summary

ROWS_AT_MOST = 60
"""A longer table is left to the report: nobody reads it while it scrolls by."""

WIDTH = 100


def print_summary(summary: Summary, console: Console) -> None:
    """Print tables, caveats and one sentence a platform, at most 100 columns wide."""
    page = Page(console)
    _print_head(summary, page)
    for table in terminal_tables(summary):
        print_table(table, page)
    caveats = [(caveat.subject, ": " + caveat.text) for caveat in summary.caveats]
    _print_points("Caveats", caveats, page)
    answers = [
        (sentence.platform, f"{' (emulated CPU)' if sentence.group == 'emulated' else ''} {sentence.text}")
        for sentence in summary.sentences
    ]
    _print_points("Cost by platform", answers, page)


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print a sentence a cell that lost something, native platforms first, and what could not be compared."""
    page = Page(console)
    for title, emulated in (("Causes", False), (EMULATED_LABEL, True)):
        found = [finding for finding in diagnosis.findings if finding.emulated is emulated]
        _print_points(
            title,
            [(finding.subject, " ".join([f" {finding.text}", *finding.further])) for finding in found],
            page,
        )
    page.line()
    page.line(diagnosis.counts, "dim")
    _print_points("Not compared", [(each.cell, f": {each.why}") for each in diagnosis.uncompared], page)


class Page:
    """The console, narrowed to a width that is read well."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, WIDTH)

    def line(self, text: str = "", style: str = "") -> None:
        """A paragraph."""
        self.console.print(Text(text, style=style), width=self.width)


def _print_head(summary: Summary, page: Page) -> None:
    origin = summary.provenance
    page.line(origin.title or origin.name, "bold")
    if origin.question:
        page.line(origin.question)
    counts = ", ".join(f"{trials} {verdict}" for verdict, trials in summary.verdict_totals.items())
    status = origin.status
    if status != "complete":
        status += f", {origin.progress}"
    page.line(
        f"{origin.name} · {status} · {origin.recorded_trials} trials: {counts} · seed {origin.seed}", "dim"
    )
    if summary.has_usable:
        page.line(_legend(summary), "dim")
    else:
        page.line("No usable trial is recorded yet.")


def _legend(summary: Summary) -> str:
    """How to read the numbers of all tables, and of those of guests that share a link the symbols."""
    if summary.throughput:
        return tables.LEGEND
    if summary.sharing.goodput:
        return f"{sharing_tables.LEGEND} {sharing_tables.SYMBOLS}"
    return sharing_tables.LEGEND


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


def _print_points(title: str, points: list[tuple[str, str]], page: Page) -> None:
    if not points:
        return
    page.line()
    page.line(title, "bold")
    for subject, text in points:
        line = Text.assemble((subject, "bold"), text)
        page.console.print(Padding(line, (0, 0, 0, 2)), width=page.width)
