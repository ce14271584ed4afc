"""What a report says, chapter by chapter: the tax on its first screen, and all other tables below the figures."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.model import catalogue
from vtax.model.table import Table
from vtax.views.claims.table import claim_tables, outcome, reading
from vtax.views.contents import report_tables
from vtax.views.summary import Summary
from vtax.views.tables import LEGEND


@dataclass(frozen=True)
class Chapter:
    """Tables under one heading; `name` is its anchor, `entry` what the contents call it."""

    name: str
    entry: str
    title: str
    tables: tuple[Table, ...]
    note: str = ""


def tax_chapter(summary: Summary) -> Chapter:
    """Return what the platforms cost, as the kind of workload has it; without tables where nothing was compared."""
    return _chapter(summary, catalogue.Chapter.TAX, "Tax", "The tax", LEGEND)


def chapters(summary: Summary) -> list[Chapter]:
    """Return those that have a table, in the order of the page."""
    found = (
        _chapter(summary, catalogue.Chapter.LEDGER, "CPU ledger", "CPU time by owner"),
        _chapter(summary, catalogue.Chapter.HOPS, "Hops", "Frame loss"),
        _chapter(summary, catalogue.Chapter.STAGES, "Stages", "Packet delay"),
        _chapter(summary, catalogue.Chapter.ARTIFACTS, "Artifacts", "Timing artifacts"),
        Chapter(
            "claims",
            "Claims",
            "Findings of the paper on this machine",
            tuple(claim_tables(summary.claims)),
            f"{outcome(summary.claims)}. {reading(summary.claims)}",
        ),
        _chapter(summary, catalogue.Chapter.NUMBERS, "Numbers", "All other numbers"),
        _chapter(summary, catalogue.Chapter.VERDICTS, "Verdicts", "Verdicts of the trials"),
    )
    return [chapter for chapter in found if chapter.tables]


def _chapter(summary: Summary, chapter: catalogue.Chapter, entry: str, title: str, note: str = "") -> Chapter:
    return Chapter(str(chapter), entry, title, report_tables(summary, chapter), note)
