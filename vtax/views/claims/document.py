"""Claims as JSON values, units in the names of quantities."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pydantic import JsonValue

from vtax.model.estimate import Estimate
from vtax.views.claims import Claims, Judged, Judgement, counts
from vtax.views.claims.table import in_words

FORMAT_VERSION = 1


def claims_document(claims: Claims) -> dict[str, JsonValue]:
    """Everything that was judged."""
    return {
        "format_version": FORMAT_VERSION,
        "verdicts": _counts(claims, emulated=False),
        "emulated_verdicts": _counts(claims, emulated=True),
        "remarks": [*claims.remarks],
        "claims": [*claim_rows(claims.judged)],
    }


def _counts(claims: Claims, *, emulated: bool) -> dict[str, JsonValue]:
    return {str(verdict): count for verdict, count in counts(claims.judged, emulated=emulated).items()}


def claim_rows(judged: Iterable[Judged]) -> list[dict[str, JsonValue]]:
    """A claim each, with its platforms; of one that was not measured, `result` is null and there are none.

    An estimate is {value, bound, low, high, open, n, left_out}: a ratio, or in the unit that the quantity's name ends
    in. `low` and `high` are null where no interval could be formed, and where `open` tells that there is none on that
    side; the value where `bound` tells that it is withheld.
    """
    return [_claim(each) for each in judged]


def _claim(judged: Judged) -> dict[str, JsonValue]:
    claim = judged.claim
    file = claim.file
    return {
        "paper": claim.paper,
        "claim": claim.name,
        "says": file.says,
        "where": file.where,
        "scenarios": [*claim.scenarios],
        "quantity": file.test.quantity,
        "test": in_words(file.test),
        "above": file.test.above,
        "below": file.test.below,
        "result": None if judged.result is None else str(judged.result),
        "platforms": [_judgement(each) for each in judged.judgements],
    }


def _judgement(judgement: Judgement) -> dict[str, JsonValue]:
    decisive = judgement.decisive
    return {
        "platform": judgement.platform,
        "emulated": judgement.emulated,
        "verdict": str(judgement.verdict),
        "decisive": None if decisive is None else decisive.where,
        "missing": list(judgement.missing),
        "effects": [
            {"where": effect.where, "verdict": str(effect.verdict), **_estimate(effect.estimate)}
            for effect in judgement.effects
        ],
    }


def _estimate(found: Estimate) -> dict[str, JsonValue]:
    sides = {"low": found.low, "high": found.high}
    return {
        **found.numbers,
        "bound": str(found.bound),
        "open": [name for name, bound in sides.items() if bound is not None and math.isinf(bound)],
        "n": found.n,
        "left_out": found.left_out,
    }
