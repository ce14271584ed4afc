"""Tables of text on a terminal: in columns where they fit, else a record a row. No column and no value is left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vtax.output import visible

GAP = 2
LONG_WORD = 16
"""A longer word of text may be broken: one long name does not turn a table into records."""


@dataclass(frozen=True)
class TextTable:
    """Rows in sections, each under a title or, where that is empty, under none.

    The second line of a head is its unit. Cells of `numeric` columns are padded so that they align, and are broken
    between two numbers only.
    """

    heads: Sequence[str]
    numeric: Sequence[bool]
    sections: Sequence[tuple[str, Sequence[Sequence[str]]]]

    def print(self, console: Console, width: int) -> None:
        """Print it in at most `width` columns of the terminal; the lines of a record are the terminal's to wrap."""
        self._visible()._print(console, width)

    def _visible(self) -> "TextTable":
        """Return it with the escapes that it is printed with, which take room."""
        sections = [
            (visible(title), [[visible(cell) for cell in row] for row in rows])
            for title, rows in self.sections
        ]
        return TextTable([visible(head) for head in self.heads], self.numeric, sections)

    def _print(self, console: Console, width: int) -> None:
        widths = self._widths(width)
        if widths is None:
            self._print_records(console)
            return
        console.print(self._grid(widths, [], with_heads=True), width=width)
        for title, rows in self.sections:
            if title:
                console.print(Text(title, "italic"), width=width)
            console.print(self._grid(widths, rows, with_heads=False), width=width)

    def _grid(self, widths: Sequence[int], rows: Sequence[Sequence[str]], *, with_heads: bool) -> Table:
        grid = Table(
            box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=with_heads, header_style="dim"
        )
        for head, width in zip(self.heads, widths, strict=True):
            grid.add_column(Text(head), width=width, overflow="fold")
        for row in rows:
            grid.add_row(*(Text(cell, overflow="fold") for cell in row))
        return grid

    def _print_records(self, console: Console) -> None:
        """Print each row as lines of a name and a value, as psql's expanded display does."""
        names = [head.replace("\n", ", ").strip() for head in self.heads]
        room = max(map(cell_len, names)) + GAP
        number = 0
        for title, rows in self.sections:
            if title:
                console.print(Text(title, "italic"), soft_wrap=True)
            for row in rows:
                number += 1
                record = Text(f"-[ {number} ]".ljust(room, "-"), "dim")
                for name, cell in zip(names, row, strict=True):
                    record.append(f"\n{name}{' ' * (room - cell_len(name))}", "dim")
                    record.append(cell.strip(), "not dim")
                console.print(record, soft_wrap=True)
        if not number:
            console.print(Text(f"no rows; columns: {', '.join(names)}"), soft_wrap=True)

    def _widths(self, width: int) -> list[int] | None:
        """What each column needs; where that is too much, the widest give way and wrap: text between words, then
        numeric columns between numbers, and at last text inside long words. None where that is not enough.
        """
        rows = [row for _, rows in self.sections for row in rows]
        widths, unbroken, broken = [], [], []
        for index, head in enumerate(self.heads):
            heads = [cell_len(line) for line in head.split("\n")]
            cells = [row[index] for row in rows]
            words = [cell_len(part) for cell in cells for part in re.split(r"(?<=\S) ", cell)]
            widths.append(max([*heads, *map(cell_len, cells), 1]))
            unbroken.append(max([*heads, *words, 1]))
            broken.append(max([*heads, *(min(word, LONG_WORD) for word in words), 1]))
        excess = sum(widths) + GAP * (len(widths) - 1) - width
        for numeric, least in ((False, unbroken), (True, unbroken), (False, broken)):
            while excess > 0:
                flexible = [
                    index
                    for index, is_numeric in enumerate(self.numeric)
                    if is_numeric is numeric and widths[index] > least[index]
                ]
                if not flexible:
                    break
                widths[max(flexible, key=lambda index: widths[index])] -= 1
                excess -= 1
        return widths if excess <= 0 else None
