"""A comparison on the terminal: the table, what else differs, and the outcome last, where the eye is."""

from __future__ import annotations

import math

from rich.console import Console

from vtax.views.compare import Comparison
from vtax.views.compare.table import broken_lines, change_table, listed, outcome, remarks
from vtax.views.console import Page, print_table


def print_comparison(compared: Comparison, console: Console) -> None:
    """Print everything that changed, at most 100 columns wide."""
    page = Page(console)
    page.line(f"A: {compared.a}\nB: {compared.b}", "bold")
    print_table(change_table(compared), page, math.inf)
    page.line()
    for line in (*remarks(compared), *broken_lines(compared)):
        page.line(line)
    page.line(outcome(compared), "bold")
    if not listed(compared):
        page.line("Rows that are only counted here stand in `vtax compare --json`.", "dim")
