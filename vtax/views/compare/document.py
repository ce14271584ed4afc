"""A comparison as one JSON document, units in the names."""

from __future__ import annotations

import dataclasses
import math

from pydantic import JsonValue

from vtax.model.estimate import Estimate
from vtax.statistics import POWER
from vtax.views.compare import Comparison, Outcome
from vtax.views.compare.changes import CellChange
from vtax.views.compare.rules import Judged

FORMAT_VERSION = 1


def comparison_document(compared: Comparison) -> dict[str, JsonValue]:
    """Everything that was compared, as JSON values.

    An estimate is {value, low, high, n, bound}, an end of the interval null where there is none. `bound` is "exact",
    "at least" or "at most"; a change of two lower bounds is withheld, and null. `change` is relative,
    0.1 for 10% more, or of metrics in `points` a difference of ratios; `before` and `after` are in the data set's
    own unit, which `column` names. `smallest_change` of an undecided rule is the one that would have been found with
    the probability `power`, null where none would.
    """
    return {
        "format_version": FORMAT_VERSION,
        "a": str(compared.a),
        "b": str(compared.b),
        "within": compared.within,
        "verdicts": {str(verdict): count for verdict, count in compared.counts.items()},
        "differences": [dataclasses.asdict(difference) for difference in compared.differences],
        "notes": [*compared.notes],
        "damaged": [*compared.damaged],
        "only_in_a": [*compared.only_in_a],
        "only_in_b": [*compared.only_in_b],
        "changes": [_change(change) for change in compared.changes],
        "without_usable_trials": [*compared.without_trials],
        "rules": {str(outcome): count for outcome, count in compared.outcomes.items()},
        "broken_rules": [_judged(one) for one in compared.with_outcome(Outcome.BROKEN)],
        "undecided_rules": [
            {
                **_judged(one),
                "reason": one.reason,
                "smallest_change": one.detectable,
                "power": POWER,
            }
            for one in compared.with_outcome(Outcome.UNDECIDED)
        ],
    }


def _judged(judged: Judged) -> dict[str, JsonValue]:
    return {
        "rule": judged.rule.text,
        "cell": judged.cell,
        "uut_context": judged.uut_context,
        "metric": judged.rule.metric.name,
    }


def _change(change: CellChange) -> dict[str, JsonValue]:
    return {
        "cell": change.cell,
        "uut_context": change.uut_context,
        "metric": change.metric.name,
        "column": change.metric.column,
        "points": change.metric.points,
        "before": _estimate(change.before),
        "after": _estimate(change.after),
        "change": _estimate(change.change),
        "p_value": change.p_value,
        "verdict": str(change.verdict),
        "note": change.note,
    }


def _estimate(estimate: Estimate | None) -> dict[str, JsonValue] | None:
    if estimate is None:
        return None
    low, high = (
        None if bound is None or math.isinf(bound) else bound for bound in (estimate.low, estimate.high)
    )
    return {"value": estimate.value, "low": low, "high": high, "n": estimate.n, "bound": str(estimate.bound)}
