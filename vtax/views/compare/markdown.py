"""A comparison as Markdown, for a comment on a change."""

from __future__ import annotations

import html
import re

from vtax.views.compare import Comparison
from vtax.views.compare.table import broken_lines, change_table, outcome, remarks
from vtax.views.layout import Cell, interval_of, text_of

_SYNTAX = re.compile(r"([\\`*_\[\]|~#])")


def comparison_markdown(compared: Comparison) -> str:
    """The same as on the terminal; names from a result are neither HTML nor Markdown in it."""
    table = change_table(compared)
    lines = [f"**{escaped(outcome(compared))}** ({escaped(f'{compared.a} → {compared.b}')})", ""]
    for section in table.sections:
        lines += [f"### {section.title}", ""]
        lines.append("| " + " | ".join(column.title for column in table.columns) + " |")
        lines.append("|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|")
        lines += ["| " + " | ".join(map(_text, row)) + " |" for row in section.rows]
        lines.append("")
    further = [*broken_lines(compared), *remarks(compared)]
    lines += [f"- {escaped(line)}" for line in further]
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SYNTAX.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _text(cell: Cell) -> str:
    return escaped(f"{text_of(cell)} {interval_of(cell)}".strip())
