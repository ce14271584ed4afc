"""Two campaigns of one scenario, or two levels of a factor in one: what changed, by how much, which rules it breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vtax.inputs import InputError
from vtax.model.metrics import THROUGHPUT
from vtax.views.compare.changes import CellChange, ChangeVerdict, changes
from vtax.views.compare.conditions import CONTEXT, Difference, check_conditions, differences, noted
from vtax.views.compare.earlier import CampaignEffect, read_earlier
from vtax.views.compare.levels import open_levels, read_levels
from vtax.views.compare.rules import Absent, Judged, Outcome, Rule, check_rules, judge, parse_rules
from vtax.views.compare.side import Side, open_side, read_side
from vtax.views.compare.unit import Unit
from vtax.views.metrics import Key, MeasuredCell

__all__ = [
    "CampaignEffect",
    "ChangeVerdict",
    "Comparison",
    "Outcome",
    "Unit",
    "compare",
    "open_levels",
    "open_side",
    "parse_rules",
    "read_earlier",
    "read_levels",
    "read_side",
]


@dataclass(frozen=True)
class Comparison:
    """What a comparison of two campaigns, or of two levels in one, found.

    `a` and `b` are what a reader knows the sides by, `unit` what n counts; `anytime` tells that intervals and rules'
    verdicts hold at any number of paired values. `differences` are of conditions that were allowed to differ, `notes`
    of programs and platforms, and `alike` says that two levels are one file. `only_in_a` and `only_in_b` name cells
    that the other side has no usable trial of, `without_trials` the sides ("A", "B") that have no usable trial at all.
    `judged` has every rule's verdict on every cell. `damaged` is what could not be read. `effect` is what is known of
    how far campaigns lie apart; None of levels.
    """

    a: str
    b: str
    unit: Unit
    anytime: bool
    within: float
    differences: list[Difference]
    notes: list[str]
    alike: list[str]
    changes: list[CellChange]
    only_in_a: list[str]
    only_in_b: list[str]
    without_trials: list[str]
    rules: tuple[Rule, ...]
    judged: list[Judged]
    damaged: list[str]
    effect: CampaignEffect | None

    @property
    def by_rules(self) -> bool:
        """Whether rules alone decide, as of levels that were measured by turns for their sake."""
        return self.unit is Unit.QUAD and bool(self.rules)

    @property
    def counts(self) -> dict[ChangeVerdict, int]:
        """How many changes have each verdict."""
        counted = Counter(change.verdict for change in self.changes)
        return {verdict: counted[verdict] for verdict in ChangeVerdict}

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """How many cells have each verdict of a rule."""
        counted = Counter(one.outcome for one in self.judged)
        return {outcome: counted[outcome] for outcome in Outcome}

    def with_outcome(self, outcome: Outcome) -> list[Judged]:
        """Return the cells with that verdict of a rule."""
        return [one for one in self.judged if one.outcome is outcome]


def compare(
    a: Side,
    b: Side,
    *,
    within: float,
    allow: Collection[str] = (),
    rules: tuple[Rule, ...] = (),
    effect: CampaignEffect | None = None,
) -> Comparison:
    """Compare B with A, the reference; `within` is the share that counts as no change.

    `effect` is what is known of how far campaigns lie apart, None for sides that share blocks.

    InputError where they are one campaign, measured different things, differ in a condition that `allow` does not
    name, or have usable trials of no cell in common; and for a rule of what they do not measure.
    """
    if a.identity == b.identity:
        raise InputError(
            f"{a.directory} and {b.directory} are the same campaign; compare it with another campaign"
        )
    if a.metrics != b.metrics:
        raise InputError(
            f"{a.directory} and {b.directory} are of different kinds of workload: nothing to compare"
        )
    check_rules(rules, a.metrics)
    found = differences(a.facts, b.facts)
    check_conditions(found, allow)
    pairs = _pairs(a.measured, b.measured, CONTEXT in allow)
    without_trials = [name for name, side in (("A", a), ("B", b)) if not side.measured]
    if not pairs and not without_trials and a.unit is not Unit.QUAD:
        raise InputError(
            f"{a.name} and {b.name} have no cell with usable trials in common; their cells are as "
            f"'{_first(a.measured)}' and '{_first(b.measured)}'"
        )
    adaptive = a.adaptive or b.adaptive
    anytime = a.unit is Unit.QUAD and adaptive
    rows = changes(a.measured, b.measured, pairs, a.metrics, within, adaptive, a.unit, effect)
    before, after = {one for one, _ in pairs}, {other for _, other in pairs}
    absent = [
        *_absent(b, "B", a.measured, before),
        *_absent(a, "A", {key: cell for key, cell in b.measured.items() if key not in a.measured}, after),
        *_unusable(a, b),
    ]
    if a.unit is Unit.QUAD:
        # A cell is judged in the context that both levels have, be there a stray trial in another.
        judged_cells = {cell for cell, _ in after}
        absent = [one for one in absent if one.cell not in judged_cells]
    judged = judge(rules, rows, [b.measured[other] for _, other in pairs], absent, anytime=anytime)
    if pairs:
        _check_of_loads(rules, judged)
    return Comparison(
        a=a.name,
        b=b.name,
        unit=a.unit,
        anytime=anytime,
        within=within,
        differences=found,
        notes=noted(a.programs, b.programs),
        alike=[*a.alike],
        changes=rows,
        only_in_a=_others(a.measured, before),
        only_in_b=_others(b.measured, after),
        without_trials=without_trials,
        rules=rules,
        judged=judged,
        damaged=[*dict.fromkeys([*a.damaged, *b.damaged])],
        effect=effect,
    )


def _check_of_loads(rules: Sequence[Rule], judged: Sequence[Judged]) -> None:
    """InputError for a rule on several loads together where no cell has several."""
    for rule in rules:
        if rule.is_of_loads and not any(one.rule is rule for one in judged):
            other = f"{THROUGHPUT.name}{'<' if rule.below else '>'}{100 * rule.bound:g}%"
            raise InputError(
                f"--fail-on: '{rule.text}': {rule.metric.name} is of several loads, and here each cell has one; "
                f"name another metric, as in {other}"
            )


def _absent(side: Side, name: str, other: Mapping[Key, MeasuredCell], paired: set[Key]) -> Iterator[Absent]:
    """Cells of the other campaign that are not compared, since this one has no usable trial of them."""
    measured = {cell for cell, _ in side.measured}
    for cell, context in other:
        if (cell, context) not in paired:
            of_loads = bool(other[cell, context].loads)
            if (cell, context) in side.measured:
                missing = f"measured at other loads in {name}"
            elif cell in measured:
                missing = f"only another CPU context in {name}"
            else:
                missing = _missing(side, name, cell, of_loads)
            yield Absent(cell, context, missing, of_loads)


def _unusable(a: Side, b: Side) -> Iterator[Absent]:
    """Cells with recorded trials, of which neither campaign has a usable one."""
    measured = {cell for side in (a, b) for cell, _ in side.measured}
    for cell in sorted((a.recorded | b.recorded) - measured):
        of_loads = cell in a.of_loads | b.of_loads
        missing = f"{_missing(a, 'A', cell, of_loads)}, {_missing(b, 'B', cell, of_loads)}"
        yield Absent(cell, "unknown", missing, of_loads)


def _missing(side: Side, name: str, cell: str, of_loads: bool) -> str:
    if cell in side.recorded:
        usable = "CPU context with a usable trial at each load" if of_loads else "usable trial"
        return f"no {usable} in {name}"
    return f"not measured{' at several loads' if of_loads else ''} in {name}"


def _pairs(
    before: Mapping[Key, MeasuredCell], after: Mapping[Key, MeasuredCell], across: bool
) -> list[tuple[Key, Key]]:
    """The cells of both, of several loads those of the same; `across` contexts where each side has a cell in one."""
    pairs = [(key, key) for key, cell in before.items() if key in after and after[key].loads == cell.loads]
    if across:
        left, right = (_alone(side) for side in (before, after))
        pairs += [
            (left[cell], right[cell])
            for cell in left
            if cell in right
            and left[cell] != right[cell]
            and before[left[cell]].loads == after[right[cell]].loads
        ]
    return pairs


def _alone(side: Mapping[Key, MeasuredCell]) -> dict[str, Key]:
    counted = Counter(cell for cell, _ in side)
    return {key[0]: key for key in side if counted[key[0]] == 1}


def _others(side: Mapping[Key, MeasuredCell], paired: set[Key]) -> list[str]:
    return [key[0] for key, cell in side.items() if key not in paired and not cell.loads]


def _first(side: Mapping[Key, MeasuredCell]) -> str:
    return next(cell for cell, _ in side)
