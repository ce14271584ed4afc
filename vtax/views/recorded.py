"""Cells of any kind of workload as their trials were recorded: what they vary in, and how many trials there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vtax.results import Result
from vtax.results.schema import TRIALS

Further = tuple[tuple[str, str], ...]
"""Factors beyond those that every trial has, each with its level as text."""


@dataclass(frozen=True)
class Recorded:
    """A cell that has a recorded trial. `levels` are the columns of `trials` that were asked for, by their names."""

    key: str
    platform: str
    levels: Mapping[str, Any]
    further: Further
    recorded: int
    invalid: int
    suspect: int

    @property
    def left_out(self) -> float:
        """Share of the cell's recorded trials that are invalid."""
        return self.invalid / self.recorded


def recorded_cells(
    result: Result, *names: str, of: Literal["untraced", "traced"] = "untraced"
) -> list[Recorded]:
    """Every cell that has a recorded trial, with those columns of `trials` that all trials of a cell have in common.

    Cells whose packets were followed are apart from all others.
    """
    further = further_factors(result)
    rows = result.rows(
        f"SELECT cell, {any_values(('platform', *names, *further))}, count(*) AS recorded,"  # noqa: S608, all quoted
        " count(*) FILTER (verdict = 'invalid') AS invalid, count(*) FILTER (verdict = 'suspect') AS suspect"
        f" FROM {of} GROUP BY cell"
    )
    return [
        Recorded(
            key=row["cell"],
            platform=row["platform"],
            levels={name: row[name] for name in names},
            further=further_levels(row, further),
            recorded=row["recorded"],
            invalid=row["invalid"],
            suspect=row["suspect"],
        )
        for row in rows
    ]


def further_factors(result: Result) -> tuple[str, ...]:
    """The campaign's factors beyond those that every trial has: `trials` has a text column for each."""
    known = {column.name for column in TRIALS.columns}
    return tuple(name for name in result.tables["trials"].schema.names if name not in known)


def further_levels(row: Mapping[str, Any], further: Iterable[str]) -> Further:
    """What a setting holds of a row with these factors' columns."""
    return tuple((name, str(row[name])) for name in further)


def any_values(names: Iterable[str]) -> str:
    """Columns by which grouped trials do not differ, in SQL."""
    return ", ".join(f"any_value({_quoted(name)}) AS {_quoted(name)}" for name in names)


def _quoted(name: str) -> str:
    """A column's name in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
