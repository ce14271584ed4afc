"""What two campaigns were measured on and with: where that differs, a change may be nobody's doing."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct
from pydantic import TypeAdapter

from vtax.inputs import InputError
from vtax.results import Result
from vtax.results.stored import mapping

Facts = dict[str, str]
"""A condition's facts as text, by what they are of."""

DESCRIPTIVE = {
    "name",
    "title",
    "question",
    "source",
    "figures",
    "factors",
    "repetitions",
    "ab",
    "workload",
    "testbed",
}
"""Keys of a scenario that change no trial, or that are compared by themselves."""
CONTEXT = "context"

_ENVIRONMENTS = """
SELECT DISTINCT host, kernel, clocksource, mitigations, hash, bridge_netfilter, verdict <> 'invalid' AS usable
FROM environment LEFT JOIN (SELECT trial_id, verdict FROM trials) USING (trial_id) ORDER BY host
"""
_BY_HOST = TypeAdapter(dict[str, dict[str, bool] | None])
"""Column `bridge_netfilter` of `environment`."""
_CONTEXTS = """
SELECT cell, list(DISTINCT uut_context ORDER BY uut_context) AS contexts
FROM trials WHERE verdict <> 'invalid' AND uut_context IS NOT NULL GROUP BY cell ORDER BY cell
"""


class _Environment(Struct, frozen=True):
    """What a host was in some of the trials."""

    host: str
    kernel: str | None
    clocksource: str | None
    mitigations: str | None
    hash: str | None
    bridge_netfilter: str | None
    usable: bool | None


class _Contexts(Struct, frozen=True):
    """Where the platform of a cell forwarded."""

    cell: str
    contexts: list[str]


@dataclass(frozen=True)
class Difference:
    """A fact that two campaigns do not share; `condition` is the name it is allowed by."""

    condition: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        """As a line says it."""
        return f"{self.condition}: {self.what}: {self.before} and {self.after}"


def differences(a: Mapping[str, Facts], b: Mapping[str, Facts]) -> list[Difference]:
    """Facts of the conditions, by the condition, that both campaigns tell and that differ.

    What one of them does not tell, as an earlier vtax did not, is not known to differ. Netfilter in bridges is: it was
    on wherever the kernel had it.
    """
    found = []
    for condition, before in a.items():
        after = b[condition]
        found += [
            Difference(condition, what, before[what], after[what])
            for what in before
            if what in after and before[what] != after[what]
        ]
    digests = [difference for difference in found if difference.what.endswith(DIGEST)]
    digested = [
        difference
        for difference in found
        if difference.condition in ("machine", "kernel") and not difference.what.endswith(NETFILTER)
    ]
    explained = len(digests) < len(digested)
    return [difference for difference in found if not (explained and difference in digests)]


def check_conditions(found: Collection[Difference], allowed: Collection[str]) -> None:
    """InputError for a name in `allowed` that is no condition, and for a difference that is not allowed."""
    for name in allowed:
        if name not in CONDITIONS:
            raise InputError(f"--allow: no condition '{name}'; there are: {', '.join(CONDITIONS)}")
    refused = [difference for difference in found if difference.condition not in allowed]
    if refused:
        names = ",".join(dict.fromkeys(difference.condition for difference in refused))
        lines = "".join(f"\n  {_short(difference)}" for difference in refused[:20])
        more = f"\n  and {len(refused) - 20} more" if len(refused) > 20 else ""
        raise InputError(
            "these campaigns differ in more than their results; to compare them all the same: "
            f"--allow {names}{lines}{more}"
        )


def noted(before: Facts, after: Facts) -> list[str]:
    """What differs of the programs and platforms: what a comparison is made for, so that it is only told."""
    return [
        f"{what}: {_clip(before[what])} and {_clip(after[what])}"
        for what in before
        if what in after and before[what] != after[what]
    ]


def _machine(result: Result) -> Facts:
    hosts = result.stored.get("hosts") or {}
    facts = {
        f"{host} {name}": _text(described[name])
        for host, described in hosts.items()
        for name in ("cpu_model", "cpus", "label")
        if name in described
    }
    layout = (result.stored.get("testbed") or {}).get("cpus")
    return facts | ({"CPUs of the roles": _text(layout)} if layout else {})


DIGEST = "environment's digest"
"""It tells no more than the facts that it is made of, where these are there."""
NETFILTER = "netfilter in bridges"
"""It is no part of the digest."""
OF_KERNEL: Mapping[str, Callable[[_Environment], str | None]] = {
    "kernel": lambda row: row.kernel,
    "clocksource": lambda row: row.clocksource,
    "mitigations": lambda row: row.mitigations,
    DIGEST: lambda row: row.hash,
}
"""What a row of `environment` tells, by what it is called."""


def _kernel(result: Result) -> Facts:
    by_host: dict[str, list[_Environment]] = {}
    for row in result.read(_ENVIRONMENTS, _Environment):
        by_host.setdefault(row.host, []).append(row)
    facts = {}
    for host, rows in by_host.items():
        for what, value_of in OF_KERNEL.items():
            if known := {value for row in rows if (value := value_of(row))}:
                facts[f"{host} {what}"] = ", ".join(sorted(known))
    return facts | _netfilter(result, by_host)


def _netfilter(result: Result, by_host: Mapping[str, Sequence[_Environment]]) -> Facts:
    """Whether the hosts' bridges passed frames to netfilter; nothing where that is a factor, as of settings."""
    factors = result.scenario.get("factors") or {}
    if {"bridge_netfilter", "testbed.bridge_netfilter"} & factors.keys():
        return {}
    recorded = {host: {row.bridge_netfilter for row in rows if row.usable} for host, rows in by_host.items()}
    return {
        f"{host} {NETFILTER}": ", ".join(sorted(set().union(*map(_words_of, texts))))
        for host, texts in recorded.items()
        if texts
    }


def _words_of(recorded: str | None) -> set[str]:
    """What a trial's hosts have: on or off, else the tables that are on."""
    try:
        by_host = _BY_HOST.validate_json(recorded or "")
    except ValueError:
        return {"not recorded"}
    words = set()
    for found in by_host.values():
        on = [table for table, enabled in (found or {}).items() if enabled]
        words.add("off" if not on else "on" if len(on) == len(found or {}) else " and ".join(on))
    return words


def _accelerator(result: Result) -> Facts:
    platforms = result.stored.get("platforms") or {}
    return {
        name: _text(described["accelerator"])
        for name, described in platforms.items()
        if described.get("accelerator") is not None and not described.get("skipped")
    }


def _settings(result: Result) -> Facts:
    """A scenario's keys but its factors, whose levels are in every cell's name."""
    scenario = result.scenario
    factors = set(scenario.get("factors") or ())
    groups = {"workload": scenario.get("workload"), "testbed": scenario.get("testbed")}
    facts = {
        f"{group}.{name}": _text(value)
        for group, keys in groups.items()
        for name, value in (keys or {}).items()
        if not {name, f"{group}.{name}"} & factors
    }
    whole = {name: value for name, value in scenario.items() if name not in DESCRIPTIVE}
    return facts | {name: _text(value) for name, value in whole.items()}


def _context(result: Result) -> Facts:
    return {row.cell: ", ".join(row.contexts) for row in result.read(_CONTEXTS, _Contexts)}


def programs(result: Result) -> Facts:
    """The version of vtax, and what each platform tells of itself."""
    platforms = result.stored.get("platforms") or {}
    facts = {
        f"{platform} {name}": _text(value)
        for platform, described in platforms.items()
        for name, value in mapping(described.get("facts")).items()
    }
    version = result.stored.get("vtax_version")
    return ({"vtax": str(version)} if version else {}) | facts


CONDITIONS: Mapping[str, Callable[[Result], Facts]] = {
    "machine": _machine,
    "kernel": _kernel,
    "accelerator": _accelerator,
    "settings": _settings,
    CONTEXT: _context,
}
"""What must be equal, by the name that `--allow` takes."""


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _short(difference: Difference) -> str:
    return str(
        Difference(difference.condition, difference.what, _clip(difference.before), _clip(difference.after))
    )


def _clip(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
