"""A diagnosis as the document of `vtax diagnose`, and as a part of that of `vtax show`."""

from __future__ import annotations

from collections.abc import Mapping

from vtax.documents import diagnosis as documents
from vtax.views.diagnosis import Diagnosis, Finding, Loss
from vtax.views.diagnosis.candidate import CauseKind
from vtax.views.diagnosis.ranking import Cause
from vtax.views.diagnosis.trials import Account
from vtax.views.estimate_document import estimate_document

KINDS: Mapping[CauseKind, documents.CauseKind] = {
    CauseKind.TAKEN: "taken",
    CauseKind.SPENT: "spent",
    CauseKind.WAITED: "waited",
    CauseKind.DROPPED: "dropped",
    CauseKind.HELD_BACK: "held back",
    CauseKind.LIMITED: "limited",
    CauseKind.RESENT: "resent",
}


def diagnosis_document(diagnosis: Diagnosis) -> documents.Diagnosis:
    """Return the document of a diagnosis."""
    found = diagnosed_cells(diagnosis)
    return documents.Diagnosis(
        findings=found.findings,
        compared=found.compared,
        confidence=found.confidence,
        not_compared=found.not_compared,
    )


def diagnosed_cells(diagnosis: Diagnosis) -> documents.DiagnosedCells:
    """Return what a diagnosis is as a part of another document."""
    return documents.DiagnosedCells(
        findings=[_cell(finding) for finding in diagnosis.findings],
        compared=diagnosis.compared,
        confidence=diagnosis.confidence,
        not_compared=[
            documents.NotCompared(cell=each.cell, reason=each.why) for each in diagnosis.uncompared
        ],
    )


def _cell(finding: Finding) -> documents.DiagnosedCell:
    return documents.DiagnosedCell(
        cell=finding.cell,
        platform=finding.platform,
        emulated=finding.emulated,
        levels={**finding.levels},
        reference=finding.reference,
        losses=[_loss(loss) for loss in finding.losses],
        causes=[_cause(cause) for cause in finding.causes],
        symptoms=[_cause(cause) for cause in finding.shown],
        unexplained_share=finding.unexplained,
        missing=[*finding.missing],
        note=finding.remark,
        text=finding.text,
    )


def _loss(loss: Loss) -> documents.Loss:
    return documents.Loss(
        quantity=loss.quantity,
        lost=estimate_document(loss.lost),
        measured=estimate_document(loss.measured),
        reference=estimate_document(loss.reference),
    )


def _cause(cause: Cause) -> documents.Cause:
    return documents.Cause(
        kind=KINDS[cause.kind],
        more=estimate_document(cause.more),
        unit=cause.unit,
        loss_share=cause.explains,
        account=None if cause.account is None else _account(cause.account),
        hop=cause.hop,
        reason=cause.reason,
    )


def _account(account: Account) -> documents.Account:
    domain, guest, component = account
    return documents.Account(domain=domain, guest=guest, component=component)
