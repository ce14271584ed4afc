"""What a cell is held against: the one other cell that differs from it by one thing only.

The first of these that was measured in the same context:

1. the same cell where a factor that does something to it has its reference level (`REFERENCE_LEVELS`): its neighbours
   idle, or none; its queue the kernel's own;
2. the same cell on the reference platform: raw, or of emulated ones the first;
3. the same cell at the lowest level of a factor that rises (`RISING`): the lowest load, the fewest guests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vtax.model.dimensions import load_phrase
from vtax.model.platform import Platform, references
from vtax.views.diagnosis.evidence import CellEvidence

REFERENCE_LEVELS: Mapping[str, tuple[str, ...]] = {
    "neighbours": ("idle", "none"),
    "neighbour_guests": ("0",),
    "others": ("idle",),
    "cap_mbps": ("none",),
    "bridge_netfilter": ("false",),
    "platform.egress_qdisc": ("default",),
}
"""Factors that do something to a cell, and their levels that do nothing, the better reference first."""
RISING = ("intended_mbps", "requests_per_s", "guests")
"""Factors whose lowest level asks least of a platform."""
MAX = "max"


class Rule(StrEnum):
    """By what a cell and its reference differ."""

    LEVEL = "level"
    PLATFORM = "platform"
    LOAD = "load"


@dataclass(frozen=True)
class Pair:
    """A cell and its reference, which differ by `factor` alone."""

    cell: CellEvidence
    reference: CellEvidence
    rule: Rule
    factor: str

    @property
    def against(self) -> str:
        """The reference in a sentence."""
        if self.rule is Rule.PLATFORM:
            return self.reference.platform
        level = self.reference.levels[self.factor]
        if self.factor == "intended_mbps":
            return load_phrase(None if level == MAX else float(level))
        return f"{self.factor} = {level}"


def pair_up(cells: Sequence[CellEvidence], platforms: Sequence[Platform]) -> list[Pair]:
    """A pair for each cell with usable trials that has a reference, in the order of `cells`."""
    platform_of = references(platforms)
    alike = {factor: _alike(cells, factor) for factor in (None, *RISING)}
    pairs = []
    for cell in cells:
        if not cell.trials:
            continue
        candidates = _candidates(cell, alike, platform_of.get(cell.platform))
        pair = next((pair for pair in candidates if _can_be_compared(pair)), None)
        if pair is not None:
            pairs.append(pair)
    return pairs


Place = tuple[str | None, frozenset[tuple[str, str]]]
"""A platform, and levels."""
Alike = Mapping[Place, Sequence[CellEvidence]]


def _alike(cells: Sequence[CellEvidence], factor: str | None) -> Alike:
    """Cells by all they have but this factor; those that do not have it at all are in none."""
    found: dict[Place, list[CellEvidence]] = {}
    for cell in cells:
        if factor is None or factor in cell.levels:
            found.setdefault(_place(cell.platform, cell.levels, factor), []).append(cell)
    return found


def _place(platform: str | None, levels: Mapping[str, str], without: str | None = None) -> Place:
    return platform, frozenset((name, level) for name, level in levels.items() if name != without)


def _candidates(
    cell: CellEvidence, alike: Mapping[str | None, Alike], reference_platform: str | None
) -> Iterator[Pair]:
    for factor, levels in REFERENCE_LEVELS.items():
        level = cell.levels.get(factor)
        if level is None:
            continue
        better = levels[levels.index(level) + 1 :] if level in levels else levels
        for wanted in better:
            for other in alike[None].get(_place(cell.platform, {**cell.levels, factor: wanted}), ()):
                yield Pair(cell, other, Rule.LEVEL, factor)
    for other in alike[None].get(_place(reference_platform, cell.levels), ()):
        yield Pair(cell, other, Rule.PLATFORM, "platform")
    for factor in RISING:
        if factor not in cell.levels:
            continue
        lower = [
            other
            for other in alike[factor][_place(cell.platform, cell.levels, factor)]
            if _rank(other, factor) < _rank(cell, factor)
        ]
        for other in sorted(lower, key=lambda other: _rank(other, factor)):
            yield Pair(cell, other, Rule.LOAD, factor)


def _can_be_compared(pair: Pair) -> bool:
    """Whether both sides have usable trials, in one context; emulated CPUs are held against their like alone."""
    return (
        bool(pair.reference.trials)
        and pair.reference.uut_context == pair.cell.uut_context
        and pair.reference.emulated == pair.cell.emulated
    )


def _rank(cell: CellEvidence, factor: str) -> float:
    level = cell.levels[factor]
    return float("inf") if level == MAX else float(level)
