"""What the doctor says of one thing."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Check:
    """One line of the doctor's table. The fix is a command to paste; where none helps, the detail says what does."""

    group: str
    subject: str
    usable: bool
    detail: str
    fix: str | None = None
    accelerator: str | None = None
    """Of a platform, as its probe has it, or `not probed` until the first run has found out."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of what a platform consists of here, as far as that is known without fetching it."""


def unusable(group: str, subject: str, problem: str, fix: str) -> Check:
    """What is not usable, with a command that helps, or with words where `fix` is `needs ...`."""
    if fix.startswith("needs "):
        return Check(group, subject, False, f"{problem}; {fix}")
    return Check(group, subject, False, problem, fix)
