"""Facts of platforms and machines in words: names with their values, and of a CPU's flaws those that it has."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

NOT_AFFECTED = "Not affected"
"""The kernel's words for a flaw that a CPU does not have (/sys/devices/system/cpu/vulnerabilities)."""
MITIGATED = "Mitigation: "
DEEPEST = 20
"""No fact has more levels."""


def fact_in_words(value: JsonValue) -> str:
    """Return a fact as text. Flaws that a CPU does not have are counted, not named."""
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.3f}".rstrip("0").rstrip(".")
        case dict():
            return _named(value)
        case list():
            return ", ".join(map(part_in_words, value)) or "none"
    return str(value).removeprefix(MITIGATED)


def structured(value: JsonValue) -> JsonValue:
    """Return what a column of JSON holds; any other value as it is, and what no vtax has written."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        found: JsonValue = json.loads(value)
        json.dumps(found, ensure_ascii=False).encode()  # an escape may stand for what is no character
    except (ValueError, RecursionError):
        return value
    return found if _depth(found) <= DEEPEST else value


def _depth(value: JsonValue, beyond: int = 0) -> int:
    if not isinstance(value, dict | list) or beyond > DEEPEST:
        return beyond
    parts = value.values() if isinstance(value, dict) else value
    return max((_depth(part, beyond + 1) for part in parts), default=beyond + 1)


def _named(facts: Mapping[str, JsonValue]) -> str:
    told = [f"{name} {part_in_words(value)}" for name, value in facts.items() if value != NOT_AFFECTED]
    if without := len(facts) - len(told):
        told.append(f"{without} {'other' if without == 1 else 'others'} not affected" if told else "none")
    return ", ".join(told) or "none"


def part_in_words(value: JsonValue) -> str:
    """A fact within another, in brackets where it has several parts."""
    words = fact_in_words(value)
    has_parts = not isinstance(value, float) and any(separator in words for separator in ",;")
    return f"({words})" if has_parts else words
