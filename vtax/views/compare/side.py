"""All that comparing asks of a campaign, so that the tables of only one need be in memory at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vtax.results import Result
from vtax.views.compare.conditions import CONDITIONS, Facts, programs
from vtax.views.metrics import Key, Measured, Metric, metrics_of, read_measured


@dataclass(frozen=True)
class Side:
    """A campaign held against others. `facts` are by condition; `damaged` is what could not be read in full."""

    directory: Path
    metrics: tuple[Metric, ...]
    facts: Mapping[str, Facts]
    programs: Facts
    measured: Mapping[Key, Measured]
    adaptive: bool
    damaged: tuple[str, ...]


def read_side(result: Result) -> Side:
    """What of a result is compared."""
    return Side(
        directory=result.directory,
        metrics=metrics_of(result),
        facts={condition: facts_of(result) for condition, facts_of in CONDITIONS.items()},
        programs=programs(result),
        measured=read_measured(result),
        adaptive=bool((result.campaign.get("scenario") or {}).get("precision")),
        damaged=(*result.damaged, *result.notes),
    )
