"""Cells of any kind of workload as their trials were recorded: what they vary in, and how many trials there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from vtax.results import Result, text, whole
from vtax.results.schema import TRIALS

Further = tuple[tuple[str, str], ...]
"""Factors beyond those that every trial has, each with its level as text."""


LevelsType = TypeVar("LevelsType", bound=Struct)


class NoLevels(Struct, frozen=True):
    """No columns, where none are asked for."""


@dataclass(frozen=True)
class Recorded(Generic[LevelsType]):
    """A cell that has a recorded trial. `levels` are the columns of `trials` that were asked for."""

    key: str
    platform: str
    levels: LevelsType
    further: Further
    recorded: int
    invalid: int
    suspect: int

    @property
    def left_out(self) -> float:
        """Share of the cell's recorded trials that are invalid."""
        return self.invalid / self.recorded


def recorded_cells(
    result: Result, levels: type[LevelsType], of: Literal["untraced", "traced"] = "untraced"
) -> list[Recorded[LevelsType]]:
    """Every cell that has a recorded trial, in the order of their first, with the columns that `levels` names.

    All trials of a cell have them in common.

    Cells whose packets were followed are apart from all others.
    """
    further, names = further_factors(result), levels.__struct_fields__
    rows = result.rows(
        f"SELECT cell, {any_values(('platform', *names, *further))}, count(*) AS recorded,"  # noqa: S608, all quoted
        " count(*) FILTER (verdict = 'invalid') AS invalid, count(*) FILTER (verdict = 'suspect') AS suspect"
        f" FROM {of} GROUP BY cell ORDER BY min(trial_id)"
    )
    return [
        Recorded(
            key=text(row["cell"]),
            platform=text(row["platform"]),
            levels=levels(*(row[name] for name in names)),
            further=tuple((name, str(row[name])) for name in further),
            recorded=whole(row["recorded"]),
            invalid=whole(row["invalid"]),
            suspect=whole(row["suspect"]),
        )
        for row in rows
    ]


def further_factors(result: Result) -> tuple[str, ...]:
    """The campaign's factors beyond those that every trial has: `trials` has a text column for each."""
    known = {column.name for column in TRIALS.columns}
    return tuple(name for name in result.tables["trials"].schema.names if name not in known)


def any_levels(further: Iterable[str]) -> str:
    """These factors' levels of grouped trials, as a list, in SQL."""
    return f"[{', '.join(f'any_value({_quoted(name)})' for name in further)}]"


def any_values(names: Iterable[str]) -> str:
    """Columns by which grouped trials do not differ, in SQL."""
    return ", ".join(f"any_value({_quoted(name)}) AS {_quoted(name)}" for name in names)


def _quoted(name: str) -> str:
    """A column's name in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
