"""What cells vary in: the levels that are held fixed while platforms are compared, and the one that cells differ by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

Further: TypeAlias = tuple[tuple[str, str], ...]
"""Factors beyond those that every trial has, each with its level as text."""
Level: TypeAlias = float | None
"""A number by which cells of one setting differ; None where the column has none, as the flood's load."""


class Levels(Struct, frozen=True):
    """Columns of `trials` that all trials of a cell have in common; a kind of workload names its own in a subclass."""

    @property
    def phrases(self) -> Sequence[str]:
        """The levels in words, as a table's caption joins them with commas."""
        return ()

    def factors(self, held: Mapping[str, str]) -> Mapping[str, str | float | None]:
        """Return the levels by the factors' names in scenarios; `held` are the testbed's keys that have one value."""
        return asdict(self)

    @property
    def rank(self) -> tuple[object, ...]:
        """Orders settings: values of one type at each place."""
        return ()


Own = TypeVar("Own", bound=Levels)


@dataclass(frozen=True)
class Setting:
    """What is held fixed while platforms, and levels of the kind's dimension, are compared."""

    levels: Levels
    further: Further = ()
    labels: Further = field(default=(), compare=False)
    """The further factors with their levels' labels, where a table shows those."""

    @property
    def shown(self) -> Further:
        """The further factors as tables show them."""
        return self.labels or self.further

    def of(self, kind: type[Own]) -> Own:
        """Return the levels, which are of that kind: for those who know they are. TypeError where they are not."""
        if not isinstance(self.levels, kind):
            raise TypeError(f"{self.label} has {type(self.levels).__name__}, not {kind.__name__}")
        return self.levels

    def __lt__(self, other: Setting) -> bool:
        """By the levels' rank, then by the further factors."""
        return self._rank < other._rank

    @property
    def label(self) -> str:
        """The setting in words, as a table's caption and a panel's title print it."""
        return ", ".join([*self.levels.phrases, *(f"{name} = {value}" for name, value in self.shown)])

    @property
    def _rank(self) -> tuple[tuple[object, ...], Further]:
        return self.levels.rank, self.further


@dataclass(frozen=True)
class Dimension:
    """What cells of one setting differ by: a column of `trials` that holds numbers.

    `label` returns a level as a table's cell has it, `phrase` as a sentence has it. Levels ascend; one that is None is
    the last.
    """

    column: str
    title: str
    unit: str
    label: Callable[[Level], str]
    phrase: Callable[[Level], str]

    def order(self, level: Level) -> float:
        """Return what levels are sorted by."""
        return float("inf") if level is None else level
