"""What comparing takes of a campaign, so that the tables of only one need be in memory at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vtax.model.metric import Metric
from vtax.results import Result
from vtax.views.compare.conditions import CONDITIONS, Facts, programs
from vtax.views.compare.goals import Measured, has_loads, read_with_loads
from vtax.views.compare.unit import Unit
from vtax.views.metrics import METRICS, Key, MeasuredCell, metrics_of, read_measured, recorded_names
from vtax.views.served import Served

Identity = tuple[str, ...]
COMPARISON = Served("comparison", METRICS)
TABLES = ("trials", "flows", "cpu", "environment", "canary", "searches")
"""What metrics and conditions are read of: of a large result, the other tables are a quarter of the memory."""


@dataclass(frozen=True)
class Side:
    """A campaign held against others, or those of its cells that have one level of a factor.

    `level` is that level, as in `platform=raw`; empty for the whole campaign. Cells then go by the names that `names`
    has for their keys, and values are paired within what `unit` says. `identity` is equal for copies of one
    campaign. `recorded` names every cell with a recorded trial, `measured` holds those with a usable one; `of_loads`
    names those that are of several loads together. `facts` are by condition; `damaged` is what could not be read in
    full, `alike` that this level and the other are one file.
    """

    directory: Path
    identity: Identity
    metrics: tuple[Metric, ...]
    facts: Mapping[str, Facts]
    programs: Facts
    recorded: frozenset[str]
    measured: Mapping[Key, MeasuredCell]
    adaptive: bool
    damaged: tuple[str, ...]
    of_loads: frozenset[str]
    level: str = field(default="", kw_only=True)
    unit: Unit = field(default=Unit.REPETITION, kw_only=True)
    names: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    alike: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return f"{self.directory}: {self.level}" if self.level else str(self.directory)


def open_side(directory: Path) -> Side:
    """Return what is compared of the result there. InputError where there is none, or none that can be compared."""
    return read_side(COMPARISON.check(Result.open(directory, TABLES)))


def read_side(result: Result, *, by_block: bool = False) -> Side:
    """Return what is compared of a result that has TABLES; `by_block` keeps of which block each value is.

    Then no loads are taken together: the load that is picked may be another one for each side.
    """
    if has_loads(result) and not by_block:
        found = read_with_loads(result)
    else:
        found = Measured(metrics_of(result), read_measured(result, by_block=by_block))
    return Side(
        directory=result.directory,
        identity=_identity(result),
        metrics=found.metrics,
        facts={condition: facts_of(result) for condition, facts_of in CONDITIONS.items()},
        programs=programs(result),
        recorded=recorded_names(result) | found.of_loads,
        measured=found.cells,
        of_loads=found.of_loads,
        adaptive=result.is_adaptive,
        damaged=(*result.damaged, *result.notes),
    )


def _identity(result: Result) -> Identity:
    """The microsecond in which the campaign began, and its seed; its directory where nothing records when it began."""
    began, seed = result.stored.get("created_at"), result.stored.get("seed")
    return (str(result.directory.resolve()),) if began is None else (str(began), str(seed))
