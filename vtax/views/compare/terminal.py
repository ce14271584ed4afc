"""A comparison on the terminal: the table, what else differs, and the outcome last, where the eye is."""

from __future__ import annotations

import math

from rich.console import Console

from vtax.views.compare import Comparison
from vtax.views.compare.table import change_table, listed, outcome, remarks, rule_lines, rules_outcome
from vtax.views.printing import Page, print_table


def print_comparison(compared: Comparison, console: Console) -> None:
    """Print everything that changed, at most 100 columns wide."""
    page = Page(console)
    page.line(f"A: {compared.a}\nB: {compared.b}", "bold")
    print_table(change_table(compared), page, math.inf)
    page.line()
    for line in (*remarks(compared), *rule_lines(compared)):
        page.line(line)
    page.line(outcome(compared), "bold")
    if compared.rules and not compared.by_rules:
        page.line(f"rules: {rules_outcome(compared)}", "bold")
    if not listed(compared):
        page.line("`--json` lists the rows that are only counted here.", "dim")
