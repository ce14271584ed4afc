"""Where a result came from: scenario, platforms, seed, ceilings and environment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import Struct
from pydantic import JsonValue

from vtax.inputs import InputError, one_line
from vtax.model.platform import Platform
from vtax.model.published import citation
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result, Row
from vtax.results.stored import mapping
from vtax.views.speeds import Speed, read_speeds

SHARED_CORE = "shared-core"

_ENVIRONMENTS = """
    SELECT host, roles, kernel, mitigations, clocksource, frequency_mhz, offloads, versions, own_bridge_netfilter, hash,
           string_agg(DISTINCT bridge_netfilter, ' or ' ORDER BY bridge_netfilter) AS bridge_netfilter,
           count(*) AS trials
    FROM environment GROUP BY ALL ORDER BY host, trials DESC, hash
"""

# Only invalid trials are measured again.
_PLATFORMS = """
    SELECT platform, any_value(accelerator) AS accelerator, bool_or(emulated) AS emulated,
           count(*) FILTER (verdict <> 'invalid') AS measured
    FROM trials GROUP BY platform ORDER BY platform
"""


class _Seen(Struct, frozen=True):
    """A platform that has trials."""

    platform: str
    accelerator: str | None
    emulated: bool | None
    measured: int


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to repeat a campaign, and to know how far it came.

    `platforms` stand in the scenario's order, those of one group together: native first, emulated last. `repeats` is
    the published experiment that the scenario repeats, `kind` is that of the workload. `labels` are those of the
    hosts, such as `shared-core`. `environments` has a row a host and distinct environment, with the number of trials
    that ran in it, `speeds` one a CPU of each machine. `precision` and `search` are the scenario's, empty
    without. `adaptive` tells that values decided how many repetitions there are: then, and with a search,
    `planned_trials` is None. `measured_trials` of them are usable; `recorded_trials` counts every attempt.
    """

    name: str
    title: str
    question: str
    repeats: str
    status: str
    vtax_version: str
    created_at: str
    seed: int | None
    command: tuple[str, ...]
    kind: str
    figures: tuple[str, ...]
    repetitions: int
    precision: dict[str, JsonValue]
    search: dict[str, JsonValue]
    ab: dict[str, JsonValue]
    adaptive: bool = field(metadata={"in_document": False})
    planned_trials: int | None
    recorded_trials: int
    measured_trials: int
    platforms: tuple[Platform, ...]
    labels: tuple[str, ...]
    testbed: dict[str, JsonValue]
    hosts: dict[str, dict[str, JsonValue]]
    ceilings: tuple[dict[str, JsonValue], ...]
    environments: tuple[Row, ...]
    speeds: tuple[Speed, ...]
    damaged: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the platforms, in their order."""
        return tuple(platform.name for platform in self.platforms)

    @property
    def shared_core(self) -> bool:
        """Whether agents, host and guests had fewer CPUs than the layout asks for."""
        return SHARED_CORE in self.labels

    @property
    def progress(self) -> str:
        """How far a campaign came that is not complete."""
        if self.planned_trials is None:
            return f"{self.measured_trials} trials measured; their values decide how many follow"
        return f"{self.measured_trials} of {self.planned_trials} trials measured"

    def platform(self, name: str) -> Platform:
        """The platform of that name.

        Raises:
            KeyError: the campaign has none.
        """
        for platform in self.platforms:
            if platform.name == name:
                return platform
        raise KeyError(name)


def workload_kind(result: Result) -> str:
    """Return the kind of workload of the campaign's scenario; a result that names none is of the first there was.

    Raises:
        InputError: this vtax has no such kind.
    """
    kind = str((result.scenario.get("workload") or {}).get("kind") or next(iter(CATALOGUES)))
    if kind not in CATALOGUES:
        known = ", ".join(CATALOGUES)
        problem = (
            f'{result.directory}: its workload is of kind "{one_line(kind)}", which this vtax does not know'
        )
        raise InputError(f"{problem} (it knows {known}); read it with the vtax that wrote it")
    return kind


def read_provenance(result: Result) -> Provenance:
    """Read the campaign's own description; a key that an interrupted start left out reads as empty."""
    campaign, scenario = result.stored, result.scenario
    hosts = campaign.get("hosts") or {}
    seen = result.read(_PLATFORMS, _Seen)
    platforms = _platforms(result, seen)
    factors = scenario.get("factors") or {}
    repetitions = len(campaign.get("blocks") or ()) or int(scenario.get("repetitions") or 1)
    cells_a_platform = math.prod(len(values) for name, values in factors.items() if name != "platform")
    measured = sum(platform.skipped_reason is None for platform in platforms)
    unplanned = result.is_adaptive or bool(scenario.get("search"))
    told = (scenario.get("workload") or {}).get("runs")
    runs = told if isinstance(told, int) and told > 1 else 1
    return Provenance(
        name=str(scenario.get("name") or campaign.get("name") or result.directory.name),
        title=str(scenario.get("title") or ""),
        question=str(scenario.get("question") or ""),
        repeats=citation(scenario),
        status=str(campaign.get("status") or "unknown"),
        vtax_version=str(campaign.get("vtax_version") or "unknown"),
        created_at=str(campaign.get("created_at") or "unknown"),
        seed=campaign.get("seed"),
        command=tuple(str(word) for word in campaign.get("command") or ()),
        kind=workload_kind(result),
        figures=tuple(scenario.get("figures") or ()),
        repetitions=repetitions,
        precision=scenario.get("precision") or {},
        search=scenario.get("search") or {},
        ab=scenario.get("ab") or {},
        adaptive=result.is_adaptive,
        planned_trials=None if unplanned else cells_a_platform * measured * repetitions * runs,
        recorded_trials=result.tables["trials"].num_rows,
        measured_trials=sum(row.measured for row in seen),
        platforms=platforms,
        labels=tuple(dict.fromkeys(str(host["label"]) for host in hosts.values() if host.get("label"))),
        testbed=campaign.get("testbed") or {},
        hosts=hosts,
        ceilings=tuple(campaign.get("ceilings") or ()),
        environments=tuple(result.rows(_ENVIRONMENTS)),
        speeds=read_speeds(result),
        damaged=tuple(result.damaged),
        notes=tuple(result.notes),
    )


def _platforms(result: Result, seen: Iterable[_Seen]) -> tuple[Platform, ...]:
    """Platforms of campaign.json, and any that only the trials know, a row each in `seen`."""
    described = dict(result.stored.get("platforms") or {})
    for row in seen:
        described.setdefault(row.platform, {"accelerator": row.accelerator, "emulated": row.emulated})
    order = (result.scenario.get("factors") or {}).get("platform") or []
    names = [str(name) for name in order if name in described]
    names += [name for name in described if name not in order]
    platforms = [_platform(name, described[name]) for name in names]
    return tuple(sorted(platforms, key=lambda platform: platform.emulated))


def _platform(name: str, described: Mapping[str, JsonValue]) -> Platform:
    known = {"title", "kind", "accelerator", "emulated", "skipped"}
    skipped = mapping(described.get("skipped"))
    fix = skipped.get("remedy")
    return Platform(
        name=name,
        title=str(described.get("title") or name),
        kind=str(described.get("kind") or "unknown"),
        accelerator=str(described.get("accelerator") or "unknown"),
        emulated=bool(described.get("emulated")),
        skipped_reason=str(skipped.get("reason") or "no reason given") if skipped else None,
        skipped_remedy=None if fix is None else str(fix),
        facts={key: value for key, value in described.items() if key not in known},
    )
