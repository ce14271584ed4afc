"""The trials behind every number of a report: verdict, reasons and values of each, cell by cell, in their order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct
from pydantic import JsonValue

from vtax.model.metric import Metric
from vtax.model.reading import trial_tables
from vtax.results import Result
from vtax.views.metrics import ALL, METRICS
from vtax.views.verdicts import VERDICTS, CellVerdict

MOST_TRIALS = 20_000
"""Of a result with more, a page cannot carry them all: it names the query that lists them instead."""

SCALES = {"%": 100.0, "µs": 1e-3}
"""What a column's values are times in the metric's unit; others have that unit."""
DIGITS = 5
"""That count, of the values embedded."""

_COLUMNS = tuple(metric.column for metric in ALL)
_TABLES = trial_tables(ALL)
_TRIALS = f"""
WITH {", ".join(_TABLES.values())}
SELECT cell, trial_id, block, verdict, coalesce(reasons, []) AS reasons, coalesce(marks, []) AS marks,
       [{", ".join(_COLUMNS)}] AS values
FROM trials {" ".join(f"LEFT JOIN {table.name} USING (trial_id)" for table in _TABLES)} ORDER BY started_at, trial_id
"""  # noqa: S608, made of constants


class _Trial(Struct, frozen=True):
    """A recorded trial; `values` has one a metric's column, None where the trial does not tell it."""

    cell: str
    trial_id: int
    block: int
    verdict: str
    reasons: list[str]
    marks: list[str]
    values: list[float | None]


@dataclass(frozen=True)
class CellTrials:
    """A cell's recorded trials in the order in which they ran, a list of the same length each.

    `verdicts` are places in VERDICTS, `notes` the reasons and marks as text; `values` has a list a metric, in its
    unit, None where a trial does not tell.
    """

    name: str
    trial_ids: tuple[int, ...]
    blocks: tuple[int, ...]
    verdicts: tuple[int, ...]
    notes: tuple[str, ...]
    values: dict[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class Trials:
    """All cells by their keys, and the metrics that any trial tells; no cell where there are too many trials."""

    cells: dict[str, CellTrials]
    metrics: tuple[Metric, ...]

    @property
    def numbers(self) -> dict[str, int]:
        """A short name for each key, for what refers to it."""
        return {key: number for number, key in enumerate(self.cells)}


def read_trials(result: Result, kind: str, cells: Iterable[CellVerdict]) -> Trials:
    """The trials of each of these cells, and what they tell of their kind's metrics.

    Rounds of relays and iterations of programs have those of requests.
    """
    if result.tables["trials"].num_rows > MOST_TRIALS:
        return Trials({}, ())
    rows: dict[str, list[_Trial]] = {}
    for row in result.read(_TRIALS, _Trial):
        rows.setdefault(row.cell, []).append(row)
    told = {
        name
        for own in rows.values()
        for row in own
        for name, value in zip(_COLUMNS, row.values, strict=True)
        if value is not None
    }
    metrics = tuple(metric for metric in METRICS.get(kind, ()) if metric.column in told)
    names = {cell.key: cell.name for cell in cells}
    return Trials(
        {key: _cell(names[key], own, metrics) for key, own in rows.items() if key in names}, metrics
    )


def embedded(trials: Trials) -> dict[str, JsonValue]:
    """The same as compact JSON values, for a page's script."""
    return {
        "verdicts": [*VERDICTS],
        "metrics": [
            {"name": metric.name, "title": metric.title, "unit": metric.unit} for metric in trials.metrics
        ],
        "cells": [
            [
                cell.name,
                [*cell.trial_ids],
                [*cell.blocks],
                [*cell.verdicts],
                [*cell.notes] if any(cell.notes) else [],
                [[*cell.values[metric.name]] for metric in trials.metrics],
            ]
            for cell in trials.cells.values()
        ],
    }


def _cell(name: str, rows: list[_Trial], metrics: tuple[Metric, ...]) -> CellTrials:
    places = {metric: _COLUMNS.index(metric.column) for metric in metrics}
    return CellTrials(
        name=name,
        trial_ids=tuple(row.trial_id for row in rows),
        blocks=tuple(row.block for row in rows),
        verdicts=tuple(VERDICTS.index(row.verdict) for row in rows),
        notes=tuple("; ".join([*row.reasons, *row.marks]) for row in rows),
        values={
            metric.name: tuple(_value(row.values[place], metric) for row in rows)
            for metric, place in places.items()
        },
    )


def _value(value: float | None, metric: Metric) -> float | None:
    return None if value is None else float(f"{value * SCALES.get(metric.unit, 1.0):.{DIGITS}g}")
