"""Whether a trial may be believed, and in which words that is said.

Invalid means that the instrument failed. What the unit under test does (drops, duplicates, reorders, holds back,
dies) is a result.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Suspect trials enter means and are counted; invalid ones never do, and are repeated."""

    VALID = "valid"
    SUSPECT = "suspect"
    INVALID = "invalid"


Finding = tuple[Verdict, str]
"""A verdict and the reason for it. A valid one blames nobody: it tells what happened to the UUT."""


@dataclass(frozen=True)
class Judgement:
    """A verdict, why, and marks that are no blame.

    These are `generator-limited`, `link-limited`, `uplink-limited`, `backpressured` and `limit-unknown`; of streams
    `far-end-busy`.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    marks: tuple[str, ...]
    uut_context: str | None


def graded(share: float, suspect: float, invalid: float, what: str) -> Iterator[Finding]:
    """A finding for a share above one of two thresholds."""
    if share > invalid:
        yield Verdict.INVALID, f"{what}: {100 * share:.1f}%"
    elif share > suspect:
        yield Verdict.SUSPECT, f"{what}: {100 * share:.1f}%"


def failed(failure: str) -> Judgement:
    """Return the judgement of a trial whose instrument failed: nothing else is asked of it."""
    return Judgement(Verdict.INVALID, (f"instrument failed: {failure}",), (), None)


def judged(findings: Iterable[Finding], marks: tuple[str, ...], uut_context: str | None) -> Judgement:
    """Return a trial's judgement by what was found, the worst first."""
    found = sorted(findings, key=lambda finding: -list(Verdict).index(finding[0]))
    verdict = found[0][0] if found else Verdict.VALID
    return Judgement(verdict, tuple(text for _, text in found), marks, uut_context)
