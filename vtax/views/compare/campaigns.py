"""The campaigns below a directory, in the order of time, those of one experiment together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vtax.inputs import InputError
from vtax.model.platform import Platform
from vtax.results import Result
from vtax.views.compare.conditions import Facts
from vtax.views.compare.side import TABLES, Identity, Side, read_side
from vtax.views.metrics import METRICS
from vtax.views.provenance import read_provenance
from vtax.views.served import Served

SERVED = Served("history", METRICS)
MANIFEST = "campaign.json"
FIXED = ("machine", "accelerator", "settings")
"""Conditions in which all campaigns of an experiment agree; kernels and programs may change with time."""


@dataclass(frozen=True)
class Campaign(Side):
    """A campaign among those before and after it."""

    created_at: datetime
    platforms: tuple[Platform, ...]

    @property
    def changing(self) -> Facts:
        """The kernel's facts and the programs', which may change over time."""
        return self.facts["kernel"] | self.programs


@dataclass(frozen=True)
class Experiment:
    """Campaigns of one scenario with the same settings on the same machine, the earliest first."""

    name: str
    campaigns: tuple[Campaign, ...]


@dataclass(frozen=True)
class Found:
    """What lies below a directory; `unread` names what was not read, whole or in part, and why; so are copies."""

    experiments: list[Experiment]
    unread: list[str]


def find_campaigns(directory: Path) -> Found:
    """Read every result below `directory`, copies of one once. InputError where there is none that can be read."""
    grouped: dict[tuple[str, ...], list[Campaign]] = {}
    originals: dict[Identity, Path] = {}
    unread = []
    for path in sorted(directory.rglob(MANIFEST)):
        try:
            result = SERVED.check(Result.open(path.parent, TABLES))
            campaign = _campaign(result)
        except InputError as error:
            unread.append(str(error))
            continue
        if (original := originals.setdefault(campaign.identity, path.parent)) != path.parent:
            unread.append(f"{path.parent}: the same campaign as {original}")
            continue
        unread += [f"{path.parent}: {problem}" for problem in result.damaged]
        grouped.setdefault(_experiment(result, campaign), []).append(campaign)
    if not grouped:
        why = f"; {unread[0]}" if unread else ""
        raise InputError(f"{directory}: no campaign below it that can be read{why}")
    experiments = [
        Experiment(key[0], tuple(sorted(found, key=lambda campaign: campaign.created_at)))
        for key, found in grouped.items()
    ]
    return Found(sorted(experiments, key=lambda experiment: -len(experiment.campaigns)), unread)


def _campaign(result: Result) -> Campaign:
    text = str(result.stored.get("created_at"))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{result.directory / MANIFEST}: created_at is {text!r}, not a time; correct it, or move the result away"
        ) from None
    return Campaign(
        **vars(read_side(result)),
        created_at=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        platforms=read_provenance(result).platforms,
    )


def _experiment(result: Result, campaign: Campaign) -> tuple[str, ...]:
    name = str(result.scenario.get("name") or result.stored.get("name") or "unnamed")
    return (name, *(repr(sorted(campaign.facts[condition].items())) for condition in FIXED))
