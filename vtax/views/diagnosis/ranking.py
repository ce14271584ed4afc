"""The causes of a loss in order: what explains most first, what only shows with it last, and what is left over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vtax.model.diagnosed import Diagnosed
from vtax.model.estimate import Estimate, estimate
from vtax.statistics import pick_differences
from vtax.views.diagnosis.candidate import Candidate, CauseKind
from vtax.views.diagnosis.causes import candidates
from vtax.views.diagnosis.effects import Affected, interval_of, left_out
from vtax.views.diagnosis.trials import Account

NAMED_SHARE = 0.05
"""Least part of a loss that is named."""


@dataclass(frozen=True)
class Cause:
    """A cause: `more` of it than at the reference, in `unit`. `explains` is the part of the loss, 0 to 1, that it
    explains and no cause before it does; None where that cannot be told.
    """

    kind: CauseKind
    more: Estimate
    unit: str
    explains: float | None
    account: Account | None
    hop: str | None
    reason: str | None


@dataclass(frozen=True)
class Explained:
    """A loss with its causes. `shown` is where it shows beside them. `unexplained` is the part that is left over."""

    affected: Affected
    causes: tuple[Cause, ...]
    shown: tuple[Cause, ...]
    unexplained: float


def explain(losses: Sequence[Affected], diagnosed: Diagnosed, cpus: int | None) -> list[Explained]:
    """Every loss with its causes; only what differs for certain, among all that was looked at, is one."""
    looked_at = [(affected, candidates(affected, diagnosed, cpus)) for affected in losses]
    flat = [(affected, candidate) for affected, found in looked_at for candidate in found]
    picked = iter(
        pick_differences(
            [interval_of(candidate.more, affected.pair.cell) for affected, candidate in flat]
        ).intervals
    )
    explained = []
    for affected, found in looked_at:
        certain = [
            (candidate, estimate(interval, left_out(affected.pair)))
            for candidate, interval in zip(found, picked)  # noqa: B905 - `picked` goes on with the next
            if interval is not None and interval.mean > 0
        ]
        explained.append(_ranked(affected, certain))
    return explained


def _ranked(affected: Affected, certain: Sequence[tuple[Candidate, Estimate]]) -> Explained:
    behind = _total(candidate for candidate, _ in certain if candidate.behind)
    shows = _total(candidate for candidate, _ in certain if candidate.shows)
    left_to_places = max(0.0, 1 - behind / shows) if shows else 1.0
    found = [
        _cause(candidate, more, left_to_places if candidate.shows else 1.0) for candidate, more in certain
    ]
    causes = [cause for cause in found if (cause.explains or 0.0) >= NAMED_SHARE]
    causes.sort(key=lambda cause: -(cause.explains or 0.0))
    shown = [
        cause
        for (candidate, _), cause in zip(certain, found, strict=True)
        if cause not in causes and (candidate.share is None or candidate.share >= NAMED_SHARE)
    ]
    left = 1 - sum(cause.explains or 0.0 for cause in causes)
    return Explained(affected, tuple(causes), tuple(shown), min(1.0, max(0.0, left)))


def _total(found: Iterable[Candidate]) -> float:
    return sum(max(0.0, candidate.share or 0.0) for candidate in found)


def _cause(candidate: Candidate, more: Estimate, part: float) -> Cause:
    share = candidate.share
    return Cause(
        kind=candidate.kind,
        more=more,
        unit=candidate.unit,
        explains=None if share is None else min(1.0, max(0.0, share)) * part,
        account=candidate.account,
        hop=candidate.hop,
        reason=candidate.reason,
    )
