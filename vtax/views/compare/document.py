"""A comparison as the document of `vtax compare`."""

from __future__ import annotations

from collections.abc import Mapping

from vtax.documents import comparison as documents
from vtax.documents.base import ComparedEstimate
from vtax.model.estimate import Estimate
from vtax.statistics import POWER, CampaignScatter
from vtax.views.compare import ChangeVerdict, Comparison, Outcome, Unit
from vtax.views.compare.changes import CellChange
from vtax.views.compare.earlier import CampaignEffect
from vtax.views.compare.rules import Judged
from vtax.views.estimate_document import compared_document

VERDICTS: Mapping[ChangeVerdict, documents.ChangeVerdict] = {
    ChangeVerdict.WORSE: "worse",
    ChangeVerdict.BETTER: "better",
    ChangeVerdict.UNKNOWN: "not enough data",
    ChangeVerdict.SAME: "same",
}
OUTCOMES: Mapping[Outcome, documents.RuleVerdict] = {
    Outcome.BROKEN: "broken",
    Outcome.UNDECIDED: "undecided",
    Outcome.PASSED: "passed",
}
UNITS: Mapping[Unit, documents.Unit] = {
    Unit.REPETITION: "repetition",
    Unit.BLOCK: "block",
    Unit.QUAD: "quad",
}
SIDES: tuple[documents.Side, ...] = ("A", "B")


def comparison_document(compared: Comparison) -> documents.Comparison:
    """Return everything that was compared."""
    return documents.Comparison(
        a=compared.a,
        b=compared.b,
        unit=UNITS[compared.unit],
        earlier=_earlier(compared.effect),
        within=compared.within,
        verdicts={VERDICTS[verdict]: count for verdict, count in compared.counts.items()},
        differences=[
            documents.ConditionDifference(
                condition=difference.condition,
                fact=difference.what,
                before=difference.before,
                after=difference.after,
            )
            for difference in compared.differences
        ],
        notes=[*compared.notes, *compared.alike],
        damaged=compared.damaged,
        only_in_a=compared.only_in_a,
        only_in_b=compared.only_in_b,
        changes=[_change(change) for change in compared.changes],
        without_usable_trials=[side for side in SIDES if side in compared.without_trials],
        rules={OUTCOMES[outcome]: count for outcome, count in compared.outcomes.items()},
        broken_rules=[_rule(one) for one in compared.with_outcome(Outcome.BROKEN)],
        passed_rules=[_rule(one) for one in compared.with_outcome(Outcome.PASSED)],
        undecided_rules=[_undecided(one) for one in compared.with_outcome(Outcome.UNDECIDED)],
    )


def _change(change: CellChange) -> documents.CellChange:
    return documents.CellChange(
        cell=change.cell,
        uut_context=change.uut_context,
        metric=change.metric.name,
        quantity=change.metric.column,
        in_points=change.metric.points,
        before=_compared(change.before),
        after=_compared(change.after),
        change=_compared(change.change),
        p_value=change.p_value,
        verdict=VERDICTS[change.verdict],
        note=change.note,
        campaign_effect=_effect(change.scatter),
    )


def _earlier(effect: CampaignEffect | None) -> documents.EarlierCampaigns | None:
    if effect is None or effect.directory is None:
        return None
    return documents.EarlierCampaigns(
        directory=str(effect.directory), campaigns=effect.campaigns, not_read=effect.unread
    )


def _effect(scatter: CampaignScatter | None) -> documents.CampaignEffect | None:
    if scatter is None:
        return None
    return documents.CampaignEffect(deviation=scatter.deviation, campaigns=scatter.campaigns)


def _compared(found: Estimate | None) -> ComparedEstimate | None:
    return None if found is None else compared_document(found)


def _rule(judged: Judged) -> documents.RuleOnCell:
    return documents.RuleOnCell(
        rule=judged.rule.text,
        cell=judged.cell,
        uut_context=judged.uut_context,
        metric=judged.rule.metric.name,
        change=_judged(judged),
        smallest_change=judged.detectable,
        power=POWER,
    )


def _judged(judged: Judged) -> ComparedEstimate | None:
    return None if judged.change is None else _compared(judged.change.change)


def _undecided(judged: Judged) -> documents.UndecidedRule:
    return documents.UndecidedRule(
        rule=judged.rule.text,
        cell=judged.cell,
        uut_context=judged.uut_context,
        metric=judged.rule.metric.name,
        change=_judged(judged),
        reason=judged.reason,
        smallest_change=judged.detectable,
        more_repetitions=judged.lacking,
        power=POWER,
    )
