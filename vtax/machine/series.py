"""Answers that come in parts: each series has an end that is known beforehand, and a time by which it is whole."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from vtax.machine.agent import UNTRUE, AgentBreach, AgentGone

SERIES_LIMIT_S = 60.0
"""How long all parts together may take: a million samples come in 700 lines."""

Item = TypeVar("Item")
Part = tuple[Sequence[Item], int]
"""Some items of a series, and how many it has in all by the agent's account."""


def read_series(
    agent: str,
    method: str,
    field: str,
    most: int,
    ask: Callable[[int, float], Part[Item]],
    limit_s: float = SERIES_LIMIT_S,
    *,
    grows: bool = False,
    may_stop: bool = False,
) -> list[Item]:
    """Ask for parts until a series of at most `most` items is complete, and return it.

    `ask` takes how many items are known and how long the answer may take. A series that `grows` may become longer
    while it is read, and an empty part ends one that `may_stop`. Raises AgentBreach, which names the field, where
    the agent reports more items than there can be or another number than before, or sends none or too many.
    Raises AgentGone where the series takes too long.
    """
    begun = time.monotonic()
    items: list[Item] = []
    told: int | None = None
    while True:
        left_s = begun + limit_s - time.monotonic()
        if left_s <= 0:
            raise AgentGone(
                f"{agent}: answers to {method} not complete within {limit_s:g} s ({len(items)} of {told} {field})"
            )
        part, count = ask(len(items), left_s)
        if may_stop and not part:
            return items
        known = count if told is None or (grows and count > told) else told
        problem = _problem(len(items), len(part), count, known, most)
        if problem is not None:
            raise AgentBreach(agent, f"answered {method}", f"{field}: {problem}", UNTRUE)
        told = count
        items += part
        if len(items) == count:
            return items


def _problem(have: int, came: int, count: int, told: int, most: int) -> str | None:
    """What is wrong with a part of a series, if anything is."""
    if count > most:
        return f"{count} in all, of at most {most}"
    if count != told:
        return f"{count} in all, after {told}"
    if have + came > count:
        return f"{have + came} of {count}"
    if not came and have < count:
        return f"none after {have} of {count}"
    return None
