"""What the cells of a campaign vary in and what is held, as text by name: what claims and comparisons pick them by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from vtax.model.levels import Further
from vtax.results import Result
from vtax.scenario.grid import text
from vtax.scenario.names import Key

Levels = Mapping[str, str]
"""Factors and fixed keys of the testbed by name, `platform` among them, each with its level as text."""
PlainLevel: TypeAlias = str | int | float | None
"""A level as a table has it, before it is text."""

WORDS = {
    "intended_mbps": "max",
    "buffer_bytes": "default",
    "message_bytes": "default",
    "response_bytes": "equal",
}
"""What a scenario calls that which the tables hold as null."""


def held(result: Result) -> Levels:
    """The testbed's keys that have one value in the scenario, unless a factor says otherwise."""
    testbed = result.scenario.get("testbed") or {}
    return {name: text(value) for name, value in testbed.items() if isinstance(value, str | int | float)}


def levels(base: Levels, platform: str, own: Mapping[str, PlainLevel], further: Further) -> Levels:
    """A cell's levels: what the testbed holds, under its own columns and further factors."""
    known = {name: _word(name, value) for name, value in own.items()}
    told = {name: value for name, value in known.items() if value is not None}
    return {**base, **told, **dict(further), "platform": platform}


def matches(found: Levels, wanted: Mapping[str, Collection[str]]) -> bool:
    """Whether each level wanted is one of those found."""
    return all(found.get(name, "") in options for name, options in wanted.items())


def column_of(factor: str) -> str:
    """Return a factor's name in cells, whichever of its names is given; an unknown one as it is."""
    try:
        return Key.parse(factor).column
    except ValueError:
        return factor


def words(of: Mapping[str, str]) -> str:
    """Levels as a reader finds them in cells: `guests=8 transport=tcp`."""
    return " ".join(f"{name}={value}" for name, value in of.items())


def _word(name: str, value: PlainLevel) -> str | None:
    return WORDS.get(name) if value is None else text(value)
