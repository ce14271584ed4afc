"""Levels that were measured by turns: what its own rules find, and how far they are decided."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.model.rule_progress import RuleProgress
from vtax.results import Result
from vtax.results.stored import mapping
from vtax.views.compare import Comparison, compare
from vtax.views.compare.levels import has_levels, read_levels
from vtax.views.compare.rules import Judged, Outcome, Rule, check_rules, parse_rules
from vtax.views.compare.side import COMPARISON, TABLES, Side
from vtax.views.metrics import METRICS

WITHIN = 0.05
"""What counts as no change of a metric without a rule."""
WAITED_QUADS = 6
"""A cell without a value to compare is waited for so long: it may come to have one, as where a source was late."""


def rules_for(fail_on: str, kind: str) -> tuple[Rule, ...]:
    """Read the rules for workloads of a kind. InputError for one that is none, or of what they do not measure."""
    rules = parse_rules(fail_on)
    check_rules(rules, METRICS[kind])
    return rules


def open_turns(directory: Path) -> Comparison | None:
    """Return what a campaign by turns found by its own rules; None where it has no trials of one level.

    InputError where there is no result, or none that was measured by turns.
    """
    result = COMPARISON.check(Result.open(directory, TABLES))
    found = _read(result)
    return found and found[0]


def rule_progress(result: Result, blocks: int) -> RuleProgress:
    """Return how far a result's rules are decided by its first so many blocks."""
    found = _read(result.before(blocks))
    if found is None:
        return RuleProgress(0, 0, frozenset(), ())
    compared, sides = found
    waited = blocks // 2 >= WAITED_QUADS
    undecided = [one for one in compared.with_outcome(Outcome.UNDECIDED) if not (waited and _is_mute(one))]
    names = dict.fromkeys(one.cell for one in undecided)
    keys = frozenset(key for side in sides for key, name in side.names.items() if name in names)
    decided = len(compared.judged) - compared.outcomes[Outcome.UNDECIDED]
    return RuleProgress(decided, len(compared.judged), keys, tuple(names))


def _is_mute(judged: Judged) -> bool:
    """Whether nothing of it could be compared so far."""
    return judged.change is None or judged.change.evidence is None


def _read(result: Result) -> tuple[Comparison, tuple[Side, Side]] | None:
    settings: Mapping[str, JsonValue] = mapping(result.scenario.get("ab"))
    by, fail_on = settings.get("by"), settings.get("fail_on")
    if not isinstance(by, str) or not isinstance(fail_on, str):
        raise InputError(
            f"{result.directory} was not measured by turns; to compare two levels of it: "
            f"vtax compare {result.directory} --by platform=raw,container"
        )
    if not has_levels(result, by):
        return None
    a, b = read_levels(result, by)
    return compare(a, b, within=WITHIN, rules=parse_rules(fail_on)), (a, b)
