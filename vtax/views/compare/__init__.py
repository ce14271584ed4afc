"""Two campaigns of one scenario: what changed, by how much, and what may be said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from vtax.inputs import InputError
from vtax.views.compare.changes import CellChange, Verdict, changes
from vtax.views.compare.conditions import CONTEXT, Difference, check_conditions, differences, noted
from vtax.views.compare.rules import Broken, Rule, broken_rules, parse_rules
from vtax.views.compare.side import Side, read_side
from vtax.views.metrics import Key, Measured

__all__ = ["Comparison", "Verdict", "compare", "parse_rules", "read_side"]


@dataclass(frozen=True)
class Comparison:
    """All that is said of two campaigns.

    `differences` are of conditions that were allowed to differ, `notes` of programs and platforms. `only_in_a` and
    `only_in_b` name cells that the other campaign has no usable trial of. `damaged` is what could not be read.
    """

    a: Path
    b: Path
    within: float
    differences: list[Difference]
    notes: list[str]
    changes: list[CellChange]
    only_in_a: list[str]
    only_in_b: list[str]
    rules: tuple[Rule, ...]
    broken: list[Broken]
    damaged: list[str]

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many changes have each verdict."""
        counted = Counter(change.verdict for change in self.changes)
        return {verdict: counted[verdict] for verdict in Verdict}


def compare(
    a: Side, b: Side, *, within: float, allow: Collection[str] = (), rules: tuple[Rule, ...] = ()
) -> Comparison:
    """Compare B with A, the reference; `within` is the share that counts as no change.

    InputError where they measured different things, differ in a condition that `allow` does not name, or have no
    cell in common.
    """
    if a.metrics != b.metrics:
        raise InputError(
            f"{a.directory} and {b.directory} are of different kinds of workload: nothing to compare"
        )
    found = differences(a.facts, b.facts)
    check_conditions(found, allow)
    pairs = _pairs(a.measured, b.measured, CONTEXT in allow)
    if not pairs:
        raise InputError(
            f"{a.directory} and {b.directory} have no cell with usable trials in common; their cells are as "
            f"'{_first(a.measured)}' and '{_first(b.measured)}'"
        )
    rows = changes(a.measured, b.measured, pairs, a.metrics, within, a.adaptive or b.adaptive)
    return Comparison(
        a=a.directory,
        b=b.directory,
        within=within,
        differences=found,
        notes=noted(a.programs, b.programs),
        changes=rows,
        only_in_a=_others(a.measured, {one for one, _ in pairs}),
        only_in_b=_others(b.measured, {other for _, other in pairs}),
        rules=rules,
        broken=broken_rules(rules, rows),
        damaged=[*a.damaged, *b.damaged],
    )


def _pairs(
    before: Mapping[Key, Measured], after: Mapping[Key, Measured], across: bool
) -> list[tuple[Key, Key]]:
    """The cells of both; `across` contexts only where each side has a cell in one context."""
    pairs = [(key, key) for key in before if key in after]
    if across:
        left, right = (_alone(side) for side in (before, after))
        pairs += [(left[cell], right[cell]) for cell in left if cell in right and left[cell] != right[cell]]
    return pairs


def _alone(side: Mapping[Key, Measured]) -> dict[str, Key]:
    counted = Counter(cell for cell, _ in side)
    return {key[0]: key for key in side if counted[key[0]] == 1}


def _others(side: Mapping[Key, Measured], paired: set[Key]) -> list[str]:
    return [cell for cell, context in side if (cell, context) not in paired]


def _first(side: Mapping[Key, Measured]) -> str:
    return next((cell for cell, _ in side), "none")
