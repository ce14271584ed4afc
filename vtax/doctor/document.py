"""Checks as the document of `vtax doctor` and `vtax testbed check`."""

from collections.abc import Iterable

from vtax.doctor.check import Check
from vtax.documents import checks as documents


def checks_document(checks: Iterable[Check]) -> documents.Checks:
    """Return the checks in their order."""
    return documents.Checks(checks=[_check(check) for check in checks])


def _check(check: Check) -> documents.Check:
    return documents.Check(
        group=check.group,
        subject=check.subject,
        usable=check.usable,
        detail=check.detail,
        fix=check.fix,
        accelerator=check.accelerator,
        versions=check.versions,
    )
