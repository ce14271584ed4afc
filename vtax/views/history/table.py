"""A history as tables: where levels changed, and the latest value of every series."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.table import UNKNOWN, Column, Entry, Number, Section, Table, mean_number
from vtax.statistics.changepoints import LEAST_VALUES
from vtax.views.compare.table import change_number
from vtax.views.history.series import Level, Series

CELL, METRIC = Column("cell"), Column("metric")


def level_table(series: Sequence[Series]) -> Table:
    """A row a change of level, the largest first."""
    rows = [(one, level) for one in series for level in one.levels or ()]
    rows.sort(key=lambda row: (row[0].metric.points, row[1].change.is_withheld, -abs(row[1].change.value)))
    return Table(
        name="levels",
        title="Changes of level",
        note="Brackets are 95% intervals of the change between the campaigns before and after, n is their number.",
        columns=(
            CELL,
            METRIC,
            Column("since"),
            Column("change", numeric=True),
            Column("n", numeric=True),
            Column("with it"),
        ),
        sections=(Section("", tuple(_level(one, level) for one, level in rows)),) if rows else (),
    )


def latest_table(series: Sequence[Series]) -> Table:
    """A row a series: its latest campaign's mean, and how far the campaigns' means lie apart."""
    return Table(
        name="latest",
        title="The latest campaign",
        note="± is the 95% interval of the latest mean. Lowest and highest are the extremes of all campaigns' means.",
        columns=(
            CELL,
            METRIC,
            Column("latest", numeric=True),
            Column("least", numeric=True),
            Column("largest", numeric=True),
            Column("campaigns", numeric=True),
        ),
        sections=(Section("", tuple(map(_latest, series))),) if series else (),
    )


def outcome(series: Sequence[Series]) -> str:
    """What was found, in a line."""
    levels = sum(len(one.levels or ()) for one in series)
    unknown = sum(one.levels is None for one in series)
    few = f"; {unknown} series skipped: fewer than {LEAST_VALUES} campaigns" if unknown else ""
    return f"{levels} changes of level in {len(series)} series{few}"


def _level(series: Series, level: Level) -> tuple[Entry, ...]:
    return (
        series.cell,
        series.metric.name,
        f"{level.since:%Y-%m-%d %H:%M}",
        _change(level, series.metric.points),
        Number(str(level.change.n)),
        "; ".join(level.with_it) or UNKNOWN,
    )


def _change(level: Level, points: bool) -> Number:
    if level.change.is_withheld:
        return Number(str(level.change.bound))
    return change_number(level.change, points)


def _latest(series: Series) -> tuple[Entry, ...]:
    form: numbers.Format = series.metric.form
    values = [point.value.value for point in series.points]
    return (
        series.cell,
        f"{series.metric.name}, {series.metric.unit}",
        mean_number(series.points[-1].value, form),
        Number(form(min(values))),
        Number(form(max(values))),
        Number(str(len(values))),
    )
