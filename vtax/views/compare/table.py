"""A comparison as a table, its head and its last lines: what terminal and Markdown show."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vtax.views import numbers
from vtax.views.compare import Comparison, Verdict
from vtax.views.compare.changes import CellChange
from vtax.views.estimate import Estimate
from vtax.views.layout import UNKNOWN, Cell, Column, Number, Section, Table

UNCHANGED_AT_MOST = 20
"""More rows than this without a change that was found are counted and not listed."""

COLUMNS = (
    Column("cell"),
    Column("metric"),
    Column("A", numeric=True),
    Column("B", numeric=True),
    Column("change", numeric=True),
    Column("n", numeric=True),
    Column("note"),
)


def change_table(compared: Comparison) -> Table:
    """A row a change, under its verdict, the worst first."""
    titles, sections = verdict_titles(compared), []
    for verdict in Verdict:
        rows = [change for change in compared.changes if change.verdict is verdict]
        if _only_counted(verdict, len(rows)):
            continue
        rows.sort(key=lambda change: -abs(change.change.value) if change.change else 0.0)
        if rows:
            sections.append(Section(titles[verdict], tuple(map(_row, rows))))
    return Table(
        name="changes",
        title="What changed",
        note="Brackets are 95% intervals, n is repetitions of both; loss in percentage points, all else relative.",
        columns=COLUMNS,
        sections=tuple(sections),
    )


def listed(compared: Comparison) -> bool:
    """Whether the table has every change."""
    return not any(_only_counted(verdict, count) for verdict, count in compared.counts.items())


def _only_counted(verdict: Verdict, rows: int) -> bool:
    return verdict in (Verdict.UNKNOWN, Verdict.SAME) and rows > UNCHANGED_AT_MOST


def verdict_titles(compared: Comparison) -> dict[Verdict, str]:
    """Each verdict, and what "same" is said within."""
    return {verdict: str(verdict) for verdict in Verdict} | {
        Verdict.SAME: f"same within {100 * compared.within:g}%"
    }


def remarks(compared: Comparison) -> Iterator[str]:
    """What a reader has to know beside the changes, a line each."""
    yield from (f"differs: {difference}" for difference in compared.differences)
    yield from (f"changed between them: {note}" for note in compared.notes)
    yield from (f"only in A: {cell}" for cell in compared.only_in_a)
    yield from (f"only in B: {cell}" for cell in compared.only_in_b)
    yield from compared.damaged


def outcome(compared: Comparison) -> str:
    """The count of each verdict in a line."""
    titles = verdict_titles(compared)
    return ", ".join(f"{count} {titles[verdict]}" for verdict, count in compared.counts.items())


def broken_lines(compared: Comparison) -> list[str]:
    """A line for each cell that is beyond a rule's bound."""
    return [
        f"{found.rule.text}: {found.change.cell}: {found.change.metric.name} {change_text(found.change)}"
        for found in compared.broken
    ]


def change_text(change: CellChange) -> str:
    """A change with its interval."""
    number = _change(change)
    return f"{number.text} {number.interval}".strip()


def _row(change: CellChange) -> tuple[Cell, ...]:
    metric = change.metric
    return (
        change.cell,
        f"{metric.name}, {metric.unit}",
        _value(change.before, metric.form),
        _value(change.after, metric.form),
        _change(change),
        Number(str(change.change.n) if change.change else UNKNOWN),
        change.note,
    )


def _value(estimate: Estimate | None, form: Callable[[float], str]) -> Number:
    return Number(UNKNOWN if estimate is None else form(estimate.value))


def change_number(change: Estimate, points: bool) -> Number:
    """A change in percent, or in percentage points, with its interval."""
    form = numbers.signed(numbers.points if points else numbers.percent)
    shown = change.map(lambda value: 100 * value)
    return Number(form(shown.value) + (" pp" if points else "%"), numbers.bracket(shown, form))


def _change(change: CellChange) -> Number:
    return Number(UNKNOWN) if change.change is None else change_number(change.change, change.metric.points)
