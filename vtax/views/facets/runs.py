"""Runs of rounds or iterations: their statistics by cell, and their timing artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vtax.documents.show.published import PublishedRounds
from vtax.model.platform import Platform
from vtax.results import Result
from vtax.views.artifacts import Artifact, round_artifacts
from vtax.views.rounds import Rounds, Runs, published_rounds, read_runs, round_statistics


@dataclass(frozen=True)
class RunFacet:
    """Lists follow the order setting, platform; they are empty for kinds without runs."""

    cells: list[Runs] = field(default_factory=list)
    rounds: list[Rounds] = field(default_factory=list)
    published_rounds: list[PublishedRounds] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)


def read_all_runs(result: Result, platforms: Sequence[Platform], names: tuple[str, ...]) -> RunFacet:
    """Return everything about runs that the result shows."""
    runs = read_runs(result, names)
    rounds = round_statistics(runs, platforms)
    return RunFacet(
        cells=runs,
        rounds=rounds,
        published_rounds=published_rounds(result.scenario, rounds),
        artifacts=round_artifacts(runs, platforms),
    )
