"""The document of `vtax claims`."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import Count, Document, Estimate, Part

ClaimVerdict = Literal["holds here", "does not hold", "undecided", "not measured"]


class ClaimEffect(Part):
    """A number that the test of a claim took on a platform."""

    at: str
    """Levels of the factors by which its cell differs from the claim's others; empty where there is one."""
    verdict: ClaimVerdict
    """The verdict on the claim by this number alone."""
    estimate: Estimate
    """The number: a ratio, or in the unit in which the name of the claim's quantity ends."""


class ClaimOnPlatform(Part):
    """The verdict on a claim on one platform, with every number behind it."""

    platform: str
    """Platform preset."""
    emulated: bool
    """True where its CPU is emulated, so that it is compared with other emulated platforms alone."""
    verdict: ClaimVerdict
    """The verdict on the claim."""
    decisive: str | None
    """`at` of the effect that decides; null where no number was taken."""
    missing: list[str]
    """Reasons why the test could not take all of its numbers, a sentence each."""
    effects: list[ClaimEffect]
    """Every number that the test took."""


class Claim(Part):
    """A finding of a paper, judged by one result."""

    paper: str
    """Short name of the paper."""
    claim: str
    """Name of the claim, unique in its paper."""
    finding: str
    """The finding in a sentence."""
    section: str
    """Section, figure or table of the paper that has it."""
    scenarios: list[str]
    """Scenarios whose results can decide it."""
    quantity: str
    """The quantity that is tested. Its unit ends its name; without a unit it is a ratio."""
    test: str
    """The test in words."""
    above: float | None
    """Every number has to be above this, in the quantity's unit; null where there is no such limit."""
    below: float | None
    """Every number has to be below this, in the quantity's unit; null where there is no such limit."""
    result: str | None
    """Directory of the result that decides; null where none of those given can."""
    platforms: list[ClaimOnPlatform]
    """The platforms that the claim is about."""


class Claims(Document):
    """Findings of the papers, judged by results (docs/claims.md)."""

    format_version: Literal[3] = 3
    """Version of the document's form."""
    verdicts: dict[ClaimVerdict, Count]
    """Claims by verdict, each counted once a platform; platforms with an emulated CPU are left out."""
    emulated_verdicts: dict[ClaimVerdict, Count]
    """The same count for platforms with an emulated CPU."""
    notes: list[str]
    """Sentences on what could not be read, and on campaigns that have not ended."""
    claims: list[Claim]
    """Every claim of the papers that the results reproduce."""
