"""Claims as Markdown."""

from __future__ import annotations

from vtax.views.claims import Claims
from vtax.views.claims.table import claims_table, outcome, unmeasured_table
from vtax.views.markdown import escaped, table_lines


def claims_markdown(claims: Claims) -> str:
    """The same as on the terminal."""
    table = claims_table(claims.judged)
    lines = [f"**{escaped(outcome(claims.judged))}**", "", escaped(table.note), "", *table_lines(table)]
    lines += table_lines(unmeasured_table(claims.judged))
    lines += [f"- {escaped(line)}" for line in claims.damaged]
    return "\n".join(lines).rstrip() + "\n"
