"""How far rules are decided that say when a campaign by turns ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RuleProgress:
    """How many of the rules on cells are decided, and the cells that more quads may decide.

    `open` has their keys, two for each pair that is compared; `names` are those of the pairs, in their order.
    """

    decided: int
    of: int
    open: frozenset[str]
    names: tuple[str, ...]
