"""Verdicts: how many trials can be used, why others cannot, and what was left out of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from msgspec import Struct

from vtax.model.cell import Cell
from vtax.model.levels import Dimension, Level
from vtax.model.recorded import Recorded
from vtax.results import Result
from vtax.views.stages import TracedCell

VERDICTS = ("valid", "suspect", "invalid")


@dataclass(frozen=True)
class VerdictCount:
    """Trials of a platform with one verdict and one kind of reason (empty for a clean trial).

    A reason's kind stands before its colon, the trial's own figures after it.

    A trial with several reasons counts under each of them.
    """

    platform: str
    verdict: str
    reason: str
    trials: int


@dataclass(frozen=True, eq=False)
class CellVerdict(Recorded):
    """A cell's recorded trials by verdict.

    `level` is what cells of the setting differ by; without a `dimension` the setting says it all. `usable` tells
    whether one of the contexts that it ran in has a trial that is not invalid.
    """

    dimension: Dimension | None
    level: Level
    usable: bool

    @property
    def label(self) -> str:
        """The level in a table; empty where the setting says it all."""
        return self.dimension.label(self.level) if self.dimension else ""

    @property
    def name(self) -> str:
        """The cell in a sentence."""
        level = [self.dimension.phrase(self.level)] if self.dimension else []
        return ", ".join([self.platform, self.setting.label, *filter(None, level)])


class _Count(Struct, frozen=True):
    """So many trials of a platform that say the same."""

    platform: str
    verdict: str
    reason: str
    trials: int


def verdict_counts(result: Result) -> list[VerdictCount]:
    """Trials by platform, verdict and reason."""
    rows = result.read(
        "SELECT platform, verdict, split_part(text, ': ', 1) AS reason, count(*) AS trials FROM ("
        "  SELECT platform, verdict, unnest(CASE WHEN len(reasons) > 0 THEN reasons ELSE [''] END) AS text"
        "  FROM trials"
        ") GROUP BY ALL",
        _Count,
    )
    rows.sort(key=lambda row: (row.platform, VERDICTS.index(row.verdict), -row.trials, row.reason))
    return [VerdictCount(row.platform, row.verdict, row.reason, row.trials) for row in rows]


def verdict_totals(result: Result) -> dict[str, int]:
    """Trials by verdict over the whole campaign; every verdict is named."""
    counted = Counter(result.tables["trials"]["verdict"].to_pylist())
    return {verdict: counted[verdict] for verdict in VERDICTS}


def cell_verdicts(cells: Iterable[Cell]) -> list[CellVerdict]:
    """Return a row a cell; one that ran in two contexts is usable if either has a usable trial."""
    found: dict[str, CellVerdict] = {}
    for cell in cells:
        verdict = _verdict(cell, cell.reading.dimension, cell.level)
        usable = verdict.usable or (cell.key in found and found[cell.key].usable)
        found[cell.key] = replace(verdict, usable=usable)
    return list(found.values())


def traced_verdicts(cells: Iterable[TracedCell]) -> list[CellVerdict]:
    """The same of cells whose packets were followed."""
    return [_verdict(cell) for cell in cells]


def _verdict(
    cell: Cell | TracedCell,
    dimension: Dimension | None = None,
    level: Level = None,
) -> CellVerdict:
    """A cell's, with what cells of its kind differ by."""
    return CellVerdict(
        key=cell.key,
        platform=cell.platform,
        setting=cell.setting,
        recorded=cell.recorded,
        invalid=cell.invalid,
        suspect=cell.suspect,
        dimension=dimension,
        level=level,
        usable=cell.is_usable,
    )
