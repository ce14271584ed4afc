"""What a campaign needs beyond plain traffic, by what its scenario's keys and its machines declare."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from vtax.campaign.resumed import Resumed
from vtax.inputs.needs import Consent, Need, NeedKind, require
from vtax.keys.fields import Scalar
from vtax.platforms import Preset, presets
from vtax.scenario import Scenario


def needs_of(scenario: Scenario) -> list[Need]:
    """Return what a scenario needs, each once, and whether it was typed. Reads no file and reaches nobody."""
    return list(dict.fromkeys((*_of_workload(scenario), *_of_platforms(scenario))))


def require_grants(
    scenario: Scenario,
    others: Iterable[Need],
    resume: Resumed | None,
    allow: Collection[NeedKind],
    consent: Consent,
) -> None:
    """Raise InputError unless the user grants what `scenario`, or what `resume` stores, and `others` need.

    What was typed in `scenario` is granted.
    """
    of, needs = scenario.name, needs_of(scenario)
    typed = {need for need in needs if need.is_typed}
    if resume is not None:
        of, needs = str(resume.directory), [*resume.needs, *needs_of(resume.scenario)]
    require(of, [need for need in (*needs, *others) if need not in typed], allow, consent)


def _of_workload(scenario: Scenario) -> Iterator[Need]:
    for need in scenario.file.workload.needs:
        keys = [f"workload.{key}" for key in need.keys]
        yield replace(need, where=scenario.where_value(keys[0]), is_typed=all(map(scenario.is_typed, keys)))


def _of_platforms(scenario: Scenario) -> Iterator[Need]:
    available = presets()
    variants = dict.fromkeys(
        (cell.platform, tuple(cell.platform_overrides.items())) for cell in scenario.cells()
    )
    for name, overrides in variants:
        try:
            preset = available[name]
        except KeyError:  # it is refused by name before anything starts
            continue
        yield from _of_platform(scenario, preset, dict(overrides))


def _of_platform(scenario: Scenario, preset: Preset, overrides: Mapping[str, Scalar]) -> Iterator[Need]:
    own = {key: value for key, value in overrides.items() if key in preset.keys}
    argument = preset.argument.key if preset.argument is not None and ":" in preset.name else None

    def place(key: str) -> tuple[str, Scalar] | None:
        """The key of the scenario that gave this one its value, with that; None where the preset did."""
        if key in own:
            return f"platform.{key}", own[key]
        return ("platform", preset.name) if key == argument else None

    for need in preset.needs(own):
        given = {key: place(key) for key in need.keys if key in own or key in preset.config}
        first = given.get(need.keys[0])
        yield replace(
            need,
            where=str(preset.path) if first is None else scenario.where_value(*first),
            is_typed=all(at is not None and scenario.is_typed(*at) for at in given.values()),
        )
