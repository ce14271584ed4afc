"""Which findings of the papers hold for results: claims are data beside the scenarios, judged on each platform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.inputs import InputError
from vtax.results import Result
from vtax.views.claims.claim import Claim
from vtax.views.claims.judge import ClaimVerdict, Judgement, judge
from vtax.views.claims.load import load_claims, papers
from vtax.views.claims.readings import CLAIMS, read_samples
from vtax.views.provenance import Provenance, read_provenance

__all__ = ["Claim", "ClaimVerdict", "Claims", "Judged", "Judgement", "claims_of", "counts", "judge_results"]


@dataclass(frozen=True)
class Judged:
    """A claim, and what is said of it on each platform of a result; without a result it was not measured."""

    claim: Claim
    result: Path | None
    judgements: tuple[Judgement, ...]


@dataclass(frozen=True)
class Claims:
    """Every claim of the papers that results repeat, and what is not there of these results."""

    judged: list[Judged]
    remarks: list[str]


def counts(judged: Iterable[Judged], *, emulated: bool) -> dict[ClaimVerdict, int]:
    """How many have each verdict, a claim counted once a platform: emulated ones, or all else."""
    judged = list(judged)
    counted = Counter(each.verdict for one in judged for each in one.judgements if each.emulated is emulated)
    if not emulated:
        counted[ClaimVerdict.UNMEASURED] += sum(not one.judgements for one in judged)
    return {verdict: counted[verdict] for verdict in ClaimVerdict}


def judge_results(results: Sequence[Result]) -> Claims:
    """Judge every claim of the papers that the results repeat, in the order of papers and of their files.

    Of a kind that has no claims a result is left out, with a remark. InputError where all are of such kinds, or none
    repeats a paper that has claims.
    """
    refused = {result.directory: why for result in results if (why := CLAIMS.refusal(result))}
    if len(refused) == len(results):
        raise InputError("\n".join(refused.values()))
    results = [result for result in results if result.directory not in refused]
    read = [(result, read_provenance(result)) for result in results]
    repeated = dict.fromkeys(paper for result, _ in read if (paper := _paper(result)) in papers())
    if not repeated:
        raise InputError(
            f"{', '.join(str(result.directory) for result in results)}: this scenario does not reproduce a "
            f"paper with claims; claims exist for {', '.join(papers())}, see vtax list scenarios"
        )
    found = [each for result, provenance in read for each in claims_of(result, provenance)]
    judged = []
    for claim in (claim for paper in repeated for claim in load_claims(paper)):
        told = [each for each in found if each.claim is claim]
        judged += told or [Judged(claim, None, ())]
    remarks = [remark for result, provenance in read for remark in _remarks(result, provenance)]
    return Claims(judged, [*refused.values(), *remarks])


def claims_of(result: Result, provenance: Provenance) -> list[Judged]:
    """The claims that name the result's scenario; empty where it repeats no paper."""
    claims = [claim for claim in load_claims(_paper(result)) if provenance.name in claim.scenarios]
    samples = read_samples(result, provenance) if claims else {}
    judged = []
    for claim in claims:
        test = claim.file.test
        subjects = [
            platform
            for platform in provenance.platforms
            if claim.file.platforms.has(platform)
            and not platform.skipped_reason
            and test.subject in (None, platform.name)
        ]
        of_quantity = samples.get(test.quantity, ())
        judgements = [judge(test, each.name, each.emulated, of_quantity) for each in subjects]
        judged.append(Judged(claim, result.directory, tuple(judgements)))
    return judged


def _remarks(result: Result, provenance: Provenance) -> Iterable[str]:
    """What could not be read, and how far a campaign came that has not ended."""
    if provenance.status != "complete":
        yield f"{result.directory}: {provenance.status}, {provenance.progress}"
    yield from (*result.damaged, *result.notes)


def _paper(result: Result) -> str:
    return str((result.scenario.get("source") or {}).get("paper") or "")
