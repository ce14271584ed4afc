"""Tables as Markdown, for a comment on a change: names from a result are neither HTML nor Markdown in it."""

from __future__ import annotations

import html
import re

from vtax.model.table import Entry, Table, interval_of, text_of

_SYNTAX = re.compile(r"([\\`*_\[\]|~#])")


def table_lines(table: Table) -> list[str]:
    """A table for each section, with a heading where it has a title."""
    lines = []
    for section in table.sections:
        lines += [f"### {escaped(section.title)}", ""] if section.title else []
        lines.append("| " + " | ".join(column.title for column in table.columns) + " |")
        lines.append("|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|")
        lines += ["| " + " | ".join(map(_text, row)) + " |" for row in section.rows]
        lines.append("")
    return lines


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SYNTAX.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _text(cell: Entry) -> str:
    return escaped(f"{text_of(cell)} {interval_of(cell)}".strip())
