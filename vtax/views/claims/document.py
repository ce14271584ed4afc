"""Claims as the document of `vtax claims`, and as a part of that of `vtax show`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vtax.documents import claims as documents
from vtax.views.claims import Claims, ClaimVerdict, Judged, Judgement, counts
from vtax.views.claims.judge import Effect
from vtax.views.claims.table import in_words
from vtax.views.estimate_document import estimate_document

VERDICTS: Mapping[ClaimVerdict, documents.ClaimVerdict] = {
    ClaimVerdict.HOLDS: "holds here",
    ClaimVerdict.FAILS: "does not hold",
    ClaimVerdict.UNDECIDED: "undecided",
    ClaimVerdict.UNMEASURED: "not measured",
}


def claims_document(claims: Claims) -> documents.Claims:
    """Return every claim that was judged, with the number of each verdict."""
    return documents.Claims(
        verdicts=_counts(claims, emulated=False),
        emulated_verdicts=_counts(claims, emulated=True),
        notes=[*claims.remarks],
        claims=claim_rows(claims.judged),
    )


def claim_rows(judged: Iterable[Judged]) -> list[documents.Claim]:
    """Return a row a claim and result, or one a claim that no result can decide."""
    return [_claim(each) for each in judged]


def _counts(claims: Claims, *, emulated: bool) -> dict[documents.ClaimVerdict, int]:
    return {VERDICTS[verdict]: count for verdict, count in counts(claims.judged, emulated=emulated).items()}


def _claim(judged: Judged) -> documents.Claim:
    claim = judged.claim
    file = claim.file
    return documents.Claim(
        paper=claim.paper,
        claim=claim.name,
        finding=file.says,
        section=file.where,
        scenarios=claim.scenarios,
        quantity=file.test.quantity,
        test=in_words(file.test),
        above=file.test.above,
        below=file.test.below,
        result=None if judged.result is None else str(judged.result),
        platforms=[_on_platform(each) for each in judged.judgements],
    )


def _on_platform(judgement: Judgement) -> documents.ClaimOnPlatform:
    decisive = judgement.decisive
    return documents.ClaimOnPlatform(
        platform=judgement.platform,
        emulated=judgement.emulated,
        verdict=VERDICTS[judgement.verdict],
        decisive=None if decisive is None else decisive.where,
        missing=[*judgement.missing],
        effects=[_effect(effect) for effect in judgement.effects],
    )


def _effect(effect: Effect) -> documents.ClaimEffect:
    return documents.ClaimEffect(
        at=effect.where,
        verdict=VERDICTS[effect.verdict],
        estimate=estimate_document(effect.estimate),
    )
