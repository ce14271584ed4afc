"""How a value is read where something other than the platform set it, and the algebra of such values.

A platform can do *at least* a throughput that the generator or the link set. Where answers never came, the mean time is
*at least* that of the others. What is formed of either inherits that:

| | over an exact value | over *at least* |
|---|---|---|
| an exact value | exact | at most |
| *at least* | at least | withheld |

Differences follow the same table. A mean or a sum is exact only where each of its values is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum


class Limit(StrEnum):
    """What bounded a value in the platform's stead, as every view words it; of several in one trial the last counts."""

    OFFERED = "the load offered"
    UNKNOWN = "a source that neither waited nor was busy"
    LINK = "the link's rate"
    GENERATOR = "the generator's ceiling"
    FAR_END = "the far ends' CPU"
    UNANSWERED = "answers that never came"

    @property
    def is_instrument(self) -> bool:
        """Whether the instrument itself was the limit, so that a faster one would show more."""
        return self in (Limit.GENERATOR, Limit.UNKNOWN, Limit.FAR_END)

    @property
    def at(self) -> str:
        """As a sentence says where a value stands: `at the link's rate`."""
        return f"with {self}" if self in (Limit.UNKNOWN, Limit.UNANSWERED) else f"at {self}"


class Bound(StrEnum):
    """How a value is read: as it is, as a bound of the true one, or not at all."""

    EXACT = "exact"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    WITHHELD = "withheld"

    @classmethod
    def of(cls, limits: Iterable[Limit | None]) -> Bound:
        """Return that of a mean whose values these limits bounded, None standing for a value that none did."""
        return cls.AT_LEAST if any(limits) else cls.EXACT

    @property
    def turned(self) -> Bound:
        """That of the value's inverse, or of its negative."""
        return {Bound.AT_LEAST: Bound.AT_MOST, Bound.AT_MOST: Bound.AT_LEAST}.get(self, self)

    def over(self, other: Bound) -> Bound:
        """Return that of the ratio to a value read as `other`, or of the difference from it."""
        return together([self, other.turned])

    @property
    def words(self) -> str:
        """What stands before the value in a sentence: `at least `; empty for an exact one."""
        return "" if self is Bound.EXACT else f"{self} "

    @property
    def sign(self) -> str:
        """What stands before the value in a table."""
        return {Bound.AT_LEAST: "≥", Bound.AT_MOST: "≤"}.get(self, "")


def together(bounds: Iterable[Bound]) -> Bound:
    """Return that of what grows with each of several values, as their sum does."""
    found = {*bounds} - {Bound.EXACT}
    if len(found) > 1:
        return Bound.WITHHELD
    return next(iter(found), Bound.EXACT)


def main_limit(limits: Iterable[Limit | None]) -> Limit | None:
    """Return what bounded most of the values; the load offered only where nothing else bounded any."""
    counted = Counter(limit for limit in limits if limit)
    return max(
        (limit for limit in Limit if counted[limit]),
        key=lambda limit: (limit is not Limit.OFFERED, counted[limit]),
        default=None,
    )


def bounded_sides(sides: Iterable[tuple[str, Limit | None]]) -> str:
    """Return which of the named sides of a comparison are bounds, and by what; empty where none is.

    `raw at the link's rate`, `both at the link's rate`, `raw at the link's rate and container at the load offered`.
    """
    named = [(name, limit) for name, limit in sides if limit]
    if len(named) > 1 and len({limit for _, limit in named}) == 1:
        return f"both {named[0][1].at}"
    return " and ".join(f"{name} {limit.at}" for name, limit in named)
