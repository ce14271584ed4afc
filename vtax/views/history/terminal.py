"""A history on the terminal: each experiment's changes of level, and the latest values where there are few."""

from __future__ import annotations

import math

from rich.console import Console

from vtax.views.history import History
from vtax.views.history.table import latest_table, level_table, outcome
from vtax.views.printing import Page, print_table

LATEST_AT_MOST = 40
"""More series than this are left to the page."""


def print_history(history: History, console: Console) -> None:
    """Print every experiment, at most 100 columns wide."""
    page = Page(console)
    for chapter in history.chapters:
        page.line(f"{chapter.experiment.name}: {len(chapter.experiment.campaigns)} campaigns", "bold")
        print_table(level_table(chapter.series), page, math.inf)
        if len(chapter.series) <= LATEST_AT_MOST:
            print_table(latest_table(chapter.series), page)
        page.line()
        page.line(outcome(chapter.series), "bold")
    for problem in history.unread:
        page.line(f"not read: {problem}")
