"""A comparison as a table, its head and its last lines: what terminal and Markdown show."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.model.table import UNKNOWN, Column, Entry, Number, Section, Table
from vtax.statistics import POWER
from vtax.views.compare import ChangeVerdict, Comparison, Outcome
from vtax.views.compare.changes import CellChange
from vtax.views.compare.earlier import effect_line
from vtax.views.compare.rules import Judged
from vtax.views.compare.unit import Unit

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
    """A row a change, under its verdict, the worst first; where rules alone decide, under theirs."""
    if compared.by_rules:
        return _rule_table(compared)
    titles, sections = verdict_titles(compared), []
    for verdict in ChangeVerdict:
        rows = [change for change in compared.changes if change.verdict is verdict]
        if _only_counted(verdict, len(rows)):
            continue
        rows.sort(key=lambda change: -abs(change.change.value) if change.change else 0.0)
        if rows:
            sections.append(Section(titles[verdict], tuple(map(_row, rows))))
    return Table(
        name="changes",
        title="Changes",
        note=f"Brackets are 95% intervals, {_counted(compared)}.",
        columns=COLUMNS,
        sections=tuple(sections),
    )


def _counted(compared: Comparison) -> str:
    return f"n is {compared.unit}s of both; loss in percentage points, all else relative"


def _rule_table(compared: Comparison) -> Table:
    """A row a cell and rule, with the interval that was judged."""
    brackets = "are 95% intervals, "
    if compared.anytime:
        brackets = "hold whenever one stopped: of those broken, and of those passed, at most 5% miss; "
    sections = []
    for found in Outcome:
        rows = [
            _row(one.change, one.rule.text) for one in compared.with_outcome(found) if one.change is not None
        ]
        if rows:
            sections.append(Section(str(found), tuple(rows)))
    return Table(
        name="changes",
        title="Changes",
        note=f"Brackets {brackets}{_counted(compared)}.",
        columns=COLUMNS,
        sections=tuple(sections),
    )


def listed(compared: Comparison) -> bool:
    """Whether the table has every change."""
    return compared.by_rules or not any(
        _only_counted(verdict, count) for verdict, count in compared.counts.items()
    )


def _only_counted(verdict: ChangeVerdict, rows: int) -> bool:
    return verdict in (ChangeVerdict.UNKNOWN, ChangeVerdict.SAME) and rows > UNCHANGED_AT_MOST


def verdict_titles(compared: Comparison) -> dict[ChangeVerdict, str]:
    """Return each verdict's title; of *same*, with the tolerances."""
    within = f"same within {100 * compared.within:g}%"
    own = {
        f"{change.metric.name} {100 * change.metric.tolerance:g} pp": None
        for change in compared.changes
        if change.metric.tolerance is not None
    }
    return {verdict: str(verdict) for verdict in ChangeVerdict} | {
        ChangeVerdict.SAME: f"{within} ({', '.join(own)})" if own else within
    }


def remarks(compared: Comparison) -> Iterator[str]:
    """What a reader has to know beside the changes, a line each."""
    if compared.effect:
        yield effect_line(compared.effect, [change.scatter for change in compared.changes])
    yield from (f"differs: {difference}" for difference in compared.differences)
    yield from (f"changed between them: {note}" for note in compared.notes)
    yield from compared.alike
    yield from (f"no trial of {name} is usable" for name in compared.without_trials)
    yield from (f"only in A: {cell}" for cell in compared.only_in_a)
    yield from (f"only in B: {cell}" for cell in compared.only_in_b)
    yield from compared.damaged


def outcome(compared: Comparison) -> str:
    """Return the count of each verdict in a line; where rules alone decide, of theirs."""
    if compared.by_rules:
        return rules_outcome(compared)
    titles = verdict_titles(compared)
    return ", ".join(f"{count} {titles[verdict]}" for verdict, count in compared.counts.items())


def rules_outcome(compared: Comparison) -> str:
    """Return how many cells break the rules, cannot be decided and pass, in a line."""
    return ", ".join(f"{count} {outcome}" for outcome, count in compared.outcomes.items())


def rule_lines(compared: Comparison) -> list[str]:
    """Return a line for each cell that breaks a rule, then one for each in which a rule is undecided."""
    broken = (
        []
        if compared.by_rules
        else [
            f"{one.rule.text}: {one.cell}: {one.rule.metric.name} {judged_text(one)}"
            for one in compared.with_outcome(Outcome.BROKEN)
        ]
    )
    undecided = [
        f"{one.outcome}: {one.rule.text}: {one.cell}: {judged_text(one)}"
        for one in compared.with_outcome(Outcome.UNDECIDED)
    ]
    return broken + undecided


def judged_text(judged: Judged) -> str:
    """Return the change that a rule was held against; where it is undecided, why, and what would have been seen."""
    change = judged.change
    if change is None or change.change is None:
        return judged.reason
    text = f"{change_text(change)}, n = {change.change.n}"
    if judged.outcome is not Outcome.UNDECIDED:
        return text
    return "; ".join([f"{text}: {judged.reason}", _seen(judged), *_lacking(judged.lacking, change.unit)])


def _seen(judged: Judged) -> str:
    power = f"at {100 * POWER:.0f}% power"
    if judged.detectable is None:
        return f"no change would have been detected {power}"
    points = judged.rule.metric.points
    return f"smallest detectable change {power}: {_signed(100 * judged.detectable, points)}"


def _lacking(count: int | None, unit: Unit) -> list[str]:
    """How many more would decide, where a number is known."""
    if count is None:
        return []
    of_each = " of each" if unit is Unit.REPETITION else ""
    return [f"about {count:,} more {unit}{'s' if count > 1 else ''}{of_each} would decide"]


def change_text(change: CellChange) -> str:
    """A change with its interval."""
    number = _change(change)
    return f"{number.text} {number.interval}".strip()


def _row(change: CellChange, rule: str = "") -> tuple[Entry, ...]:
    metric = change.metric
    return (
        change.cell,
        f"{metric.name}, {metric.unit}",
        _value(change.before, metric.form),
        _value(change.after, metric.form),
        _change(change),
        Number(str(change.change.n) if change.change else UNKNOWN),
        rule or change.note,
    )


def _value(estimate: Estimate | None, form: Callable[[float], str]) -> Number:
    return Number(UNKNOWN if estimate is None else f"{estimate.bound.sign}{form(estimate.value)}")


def change_number(change: Estimate, points: bool) -> Number:
    """A change in percent, or in percentage points, with its interval."""
    shown = change.map(lambda value: 100 * value)
    value = f"{shown.bound.sign}{_signed(shown.value, points)}"
    return Number(value, numbers.bracket(shown, _form(points)))


def _signed(value: float, points: bool) -> str:
    return _form(points)(value) + (" pp" if points else "%")


def _form(points: bool) -> numbers.Format:
    return numbers.signed(numbers.points if points else numbers.percent)


def _change(change: CellChange) -> Number:
    return Number(UNKNOWN) if change.change is None else change_number(change.change, change.metric.points)
