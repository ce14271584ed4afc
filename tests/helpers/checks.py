"""The doctor's checks by what they are about."""

from vtax.doctor import Check


def of_group(checks: list[Check], group: str) -> dict[str, Check]:
    return {check.subject: check for check in checks if check.group == group}
