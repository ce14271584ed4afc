"""The shapes of campaign.json: `mend` takes out what has another one, and any key may be missing or null."""

from collections.abc import Mapping
from typing import Final, TypedDict

from pydantic import JsonValue


class StoredSource(TypedDict, total=False):
    """The published experiment that a scenario repeats."""

    paper: str | None
    section: JsonValue


ON_ONE_TESTBED: Final = ("precision", "ab")
"""Keys of a scenario whose trials belong together: those of all blocks decide, or two blocks are one value."""


class StoredScenario(TypedDict, total=False):
    """A scenario, defaults and overrides included."""

    name: str | None
    title: str | None
    question: str | None
    source: StoredSource | None
    workload: dict[str, JsonValue] | None
    testbed: dict[str, JsonValue] | None
    platform: dict[str, JsonValue] | None
    factors: dict[str, list[JsonValue]] | None
    repetitions: int | None
    precision: dict[str, JsonValue] | None
    search: dict[str, JsonValue] | None
    ab: dict[str, JsonValue] | None
    figures: list[str] | None


class StoredCampaign(TypedDict, total=False):
    """All of it."""

    name: str | None
    status: str | None
    seed: int | None
    created_at: str | None
    finished_at: str | None
    vtax_version: str | None
    command: list[JsonValue] | None
    factors: list[str] | None
    columns: list[dict[str, JsonValue]] | None
    blocks: list[int] | None
    testbeds: dict[str, dict[str, JsonValue]] | None
    ceilings: list[dict[str, JsonValue]] | None
    testbed: dict[str, JsonValue] | None
    hosts: dict[str, dict[str, JsonValue]] | None
    platforms: dict[str, dict[str, JsonValue]] | None
    scenario: StoredScenario | None


def adaptive_key(scenario: Mapping[str, object]) -> str | None:
    """Return the key of a scenario that has the values decide how many repetitions there are; None without one."""
    if scenario.get("precision"):
        return "precision"
    turns = scenario.get("ab")
    return "ab" if isinstance(turns, dict) and turns and turns.get("fixed") is not True else None


def mapping(value: JsonValue) -> dict[str, JsonValue]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def mappings(value: JsonValue) -> dict[str, dict[str, JsonValue]]:
    """The objects in an object, by their names."""
    return {name: each for name, each in mapping(value).items() if isinstance(each, dict)}


def listed(value: JsonValue) -> list[JsonValue]:
    """An array; an empty one in place of anything else."""
    return value if isinstance(value, list) else []
