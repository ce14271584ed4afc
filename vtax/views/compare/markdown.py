"""A comparison as Markdown, for a comment on a change."""

from __future__ import annotations

from vtax.views.compare import Comparison
from vtax.views.compare.table import change_table, outcome, remarks, rule_lines, rules_outcome
from vtax.views.markdown import escaped, table_lines


def comparison_markdown(compared: Comparison) -> str:
    """Return the same as on the terminal; names from a result are neither HTML nor Markdown in it."""
    lines = [f"**{escaped(outcome(compared))}** ({escaped(f'{compared.a} → {compared.b}')})", ""]
    if compared.rules and not compared.by_rules:
        lines += [f"**Rules: {escaped(rules_outcome(compared))}**", ""]
    lines += table_lines(change_table(compared))
    further = [*rule_lines(compared), *remarks(compared)]
    lines += [f"- {escaped(line)}" for line in further]
    return "\n".join(lines).rstrip() + "\n"
