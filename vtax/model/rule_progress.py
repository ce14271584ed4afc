"""How far rules are decided that say when a campaign by turns ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RuleProgress:
    """How many of the rules on cells are decided, and the keys of the cells that more quads may decide."""

    decided: int
    of: int
    open: frozenset[str]
