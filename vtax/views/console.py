"""A result on the terminal: tables first, the answer last, where the eye is."""

from __future__ import annotations

from rich.console import Console

from vtax.model.platform import EMULATED_LABEL
from vtax.views import sharing_tables, tables
from vtax.views.contents import terminal_tables
from vtax.views.diagnosis import Diagnosis
from vtax.views.printing import Page, print_points, print_table
from vtax.views.summary import Summary


def print_summary(summary: Summary, console: Console) -> None:
    """Print tables, caveats and one sentence a platform, at most 100 columns wide."""
    page = Page(console)
    _print_head(summary, page)
    for table in terminal_tables(summary):
        print_table(table, page)
    caveats = [(caveat.subject, ": " + caveat.text) for caveat in summary.caveats]
    print_points("Caveats", caveats, page)
    answers = [
        (sentence.platform, f"{' (emulated CPU)' if sentence.group == 'emulated' else ''} {sentence.text}")
        for sentence in summary.sentences
    ]
    print_points("Cost by platform", answers, page)


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print a sentence a cell that lost something, native platforms first, and what could not be compared."""
    page = Page(console)
    for title, emulated in (("Causes", False), (EMULATED_LABEL, True)):
        found = [finding for finding in diagnosis.findings if finding.emulated is emulated]
        print_points(
            title,
            [(finding.subject, " ".join([f" {finding.text}", *finding.further])) for finding in found],
            page,
        )
    page.line()
    page.line(diagnosis.counts, "dim")
    print_points("Not compared", [(each.cell, f": {each.why}") for each in diagnosis.uncompared], page)


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
    if summary.loads.throughput:
        return tables.LEGEND
    if summary.streams.sharing.goodput:
        return f"{sharing_tables.LEGEND} {sharing_tables.SYMBOLS}"
    return sharing_tables.LEGEND
