"""Tables as text, laid out once for terminal and report: each number with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from vtax.model import numbers
from vtax.model.estimate import Estimate

Row = TypeVar("Row")

UNKNOWN = "–"


@dataclass(frozen=True)
class Number:
    """A value and its interval, apart, so that both can be aligned."""

    text: str
    interval: str = ""


Entry = str | Number


@dataclass(frozen=True)
class Column:
    """A column's head. `numeric` columns hold a Number and are aligned at the right."""

    title: str
    unit: str = ""
    numeric: bool = False


N = Column("n", numeric=True)
LEFT_OUT = Column("left out", numeric=True)


@dataclass(frozen=True)
class Section:
    """Rows under one heading, mostly a setting.

    `keys` are those of the cells that rows show, in their order; empty where none shows any. `published` rows are a
    paper's, of other hardware.
    """

    title: str
    rows: tuple[tuple[Entry, ...], ...]
    keys: tuple[str, ...] = ()
    published: bool = False

    def key(self, row: int) -> str:
        """That of a row."""
        return self.keys[row] if self.keys else ""


@dataclass(frozen=True)
class Table:
    """A table; `name` is its anchor in the report, `note` says how to read it."""

    name: str
    title: str
    note: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]

    @property
    def with_interval(self) -> tuple[bool, ...]:
        """For each column, whether any of its numbers has an interval."""
        return tuple(
            any(interval_of(row[index]) for section in self.sections for row in section.rows)
            for index in range(len(self.columns))
        )

    @property
    def published(self) -> Table:
        """What a paper prints of it alone, in the columns that it fills."""
        sections = [section for section in self.sections if section.published]
        filled = [
            place
            for place in range(len(self.columns))
            if any(text_of(row[place]) for section in sections for row in section.rows)
        ]
        return Table(
            f"{self.name}-published",
            f"{self.title}, published",
            "",
            tuple(self.columns[place] for place in filled),
            tuple(
                Section(
                    section.title,
                    tuple(tuple(row[place] for place in filled) for row in section.rows),
                    (),
                    True,
                )
                for section in sections
            ),
        )

    @property
    def size(self) -> int:
        """Rows over all sections."""
        return sum(len(section.rows) for section in self.sections)


def text_of(cell: Entry) -> str:
    """A cell without its interval."""
    return cell.text if isinstance(cell, Number) else cell


def interval_of(cell: Entry) -> str:
    """A cell's interval, empty for text."""
    return cell.interval if isinstance(cell, Number) else ""


def mean_number(estimate: Estimate | None, form: numbers.Format) -> Number:
    """A mean with its symmetric interval, `812.3 ±4.1`, or what stands for one: `809.5 [804.0, 815.2]`."""
    if estimate is None:
        return Number(UNKNOWN)
    return Number(numbers.amount(estimate, form), numbers.plus_minus(estimate, form))


def ranged_number(estimate: Estimate | None, form: numbers.Format) -> Number:
    """A value whose interval need not be symmetric: `−12.3 [−14.2, −10.1]`."""
    if estimate is None:
        return Number(UNKNOWN)
    return Number(numbers.amount(estimate, form), numbers.bracket(estimate, form))


def count(estimate: Estimate | None) -> Number:
    """The n of an estimate, and how many of these stand apart where they are not all shown."""
    if estimate is None:
        return Number(UNKNOWN)
    return Number(
        str(estimate.n), f"({estimate.apart} apart)" if estimate.apart and not estimate.points else ""
    )


def left_out(share: float) -> Number:
    """The share of trials left out."""
    return Number(numbers.share(share))


def key_of(row: object) -> str:
    """The key of the cell that a row shows; empty where it shows none."""
    key = getattr(row, "key", "")
    return key if isinstance(key, str) else ""


def sections(
    rows: Iterable[Row],
    title: Callable[[Row], str],
    cells: Callable[[Row], Sequence[Entry]],
    key: Callable[[Row], str] = key_of,
) -> tuple[Section, ...]:
    """Rows grouped by the heading `title` gives them, headings in their first appearance's order."""
    grouped: dict[str, list[tuple[tuple[Entry, ...], str]]] = {}
    for row in rows:
        grouped.setdefault(title(row), []).append((tuple(cells(row)), key(row)))
    return tuple(
        Section(heading, tuple(line for line, _ in lines), tuple(name for _, name in lines))
        for heading, lines in grouped.items()
    )


def published_sections(
    rows: Iterable[Row], title: Callable[[Row], str], cells: Callable[[Row], Sequence[Entry]]
) -> tuple[Section, ...]:
    """The same of rows that a paper prints."""
    return tuple(replace(section, published=True) for section in sections(rows, title, cells))
