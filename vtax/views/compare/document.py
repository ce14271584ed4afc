"""A comparison as one JSON document, units in the names."""

from __future__ import annotations

import dataclasses
from typing import Any

from vtax.views.compare import Comparison
from vtax.views.compare.changes import CellChange
from vtax.views.estimate import Estimate

FORMAT_VERSION = 1


def comparison_document(compared: Comparison) -> dict[str, Any]:
    """Everything that was compared, as JSON values.

    An estimate is {value, low, high, n}, its bounds null where no interval could be formed. `change` is relative,
    0.1 for 10% more, or of metrics in `points` a difference of ratios; `before` and `after` are in the data set's
    own unit, which `column` names.
    """
    return {
        "format_version": FORMAT_VERSION,
        "a": str(compared.a),
        "b": str(compared.b),
        "within": compared.within,
        "verdicts": {str(verdict): count for verdict, count in compared.counts.items()},
        "differences": [dataclasses.asdict(difference) for difference in compared.differences],
        "notes": compared.notes,
        "damaged": compared.damaged,
        "only_in_a": compared.only_in_a,
        "only_in_b": compared.only_in_b,
        "changes": [_change(change) for change in compared.changes],
        "broken_rules": [
            {"rule": found.rule.text, "cell": found.change.cell, "metric": found.change.metric.name}
            for found in compared.broken
        ],
    }


def _change(change: CellChange) -> dict[str, Any]:
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


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
