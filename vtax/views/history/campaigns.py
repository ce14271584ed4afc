"""The campaigns below a directory, in the order of time, those of one experiment together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vtax.inputs import InputError
from vtax.results import Result
from vtax.views.compare.conditions import CONDITIONS, Facts, programs
from vtax.views.metrics import Key, Measured, Metric, metrics_of, read_measured
from vtax.views.provenance import Platform, read_provenance

MANIFEST = "campaign.json"
FIXED = ("machine", "accelerator", "settings")
"""Conditions in which all campaigns of an experiment agree; kernels and programs may change with time."""


@dataclass(frozen=True)
class Campaign:
    """What a history needs of a result. `facts` are the kernel's and the programs', which may change over time."""

    directory: Path
    created_at: datetime
    platforms: tuple[Platform, ...]
    metrics: tuple[Metric, ...]
    measured: Mapping[Key, Measured]
    facts: Facts
    adaptive: bool


@dataclass(frozen=True)
class Experiment:
    """Campaigns of one scenario with the same settings on the same machine, the earliest first."""

    name: str
    campaigns: tuple[Campaign, ...]


@dataclass(frozen=True)
class Found:
    """What lies below a directory; `unread` names what could not be read, whole or in part, and why."""

    experiments: list[Experiment]
    unread: list[str]


def find_campaigns(directory: Path) -> Found:
    """Read every result below `directory`. InputError where there is none that can be read."""
    grouped: dict[tuple[str, ...], list[Campaign]] = {}
    unread = []
    for path in sorted(directory.rglob(MANIFEST)):
        try:
            result = Result.open(path.parent)
            campaign = _campaign(result)
        except InputError as error:
            unread.append(str(error))
            continue
        unread += [f"{path.parent}: {problem}" for problem in result.damaged]
        grouped.setdefault(_experiment(result), []).append(campaign)
    if not grouped:
        why = f"; {unread[0]}" if unread else ""
        raise InputError(f"{directory}: no campaign below it that can be read{why}")
    experiments = [
        Experiment(key[0], tuple(sorted(found, key=lambda campaign: campaign.created_at)))
        for key, found in grouped.items()
    ]
    return Found(sorted(experiments, key=lambda experiment: -len(experiment.campaigns)), unread)


def _campaign(result: Result) -> Campaign:
    text = str(result.campaign.get("created_at"))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{result.directory / MANIFEST}: created_at is {text!r} and no time; it has no place in a history"
        ) from None
    return Campaign(
        directory=result.directory,
        created_at=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        platforms=read_provenance(result).platforms,
        metrics=metrics_of(result),
        measured=read_measured(result),
        facts=CONDITIONS["kernel"](result) | programs(result),
        adaptive=bool((result.campaign.get("scenario") or {}).get("precision")),
    )


def _experiment(result: Result) -> tuple[str, ...]:
    name = str(
        (result.campaign.get("scenario") or {}).get("name") or result.campaign.get("name") or "unnamed"
    )
    return (name, *(repr(sorted(CONDITIONS[condition](result).items())) for condition in FIXED))
