"""Claims on the terminal: a table a claim, and the outcome last, where the eye is."""

from __future__ import annotations

import math

from rich.console import Console

from vtax.views.claims import Claims
from vtax.views.claims.table import claim_tables, outcome, reading, unmeasured_table
from vtax.views.printing import Page, print_table


def print_claims(claims: Claims, console: Console) -> None:
    """Print every claim with its verdicts, at most 100 columns wide."""
    page = Page(console)
    page.line(reading(claims.judged), "dim")
    for table in (*claim_tables(claims.judged), unmeasured_table(claims.judged)):
        print_table(table, page, math.inf)
    page.line()
    for line in claims.remarks:
        page.line(line)
    page.line(outcome(claims.judged), "bold")
