"""Claims as Markdown."""

from __future__ import annotations

from vtax.views.claims import Claims
from vtax.views.claims.table import claim_tables, outcome, reading, unmeasured_table
from vtax.views.markdown import escaped, table_lines


def claims_markdown(claims: Claims) -> str:
    """The same as on the terminal."""
    lines = [f"**{escaped(outcome(claims.judged))}**", "", escaped(reading(claims.judged)), ""]
    for table in (*claim_tables(claims.judged), unmeasured_table(claims.judged)):
        if table.size:
            lines += [f"### {escaped(table.title)}", "", escaped(table.note), "", *table_lines(table)]
    lines += [f"- {escaped(line)}" for line in claims.remarks]
    return "\n".join(lines).rstrip() + "\n"
