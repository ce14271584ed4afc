"""Judgements of one claim of a paper."""

from vtax.results import Result
from vtax.views.claims import Judgement, judge_results


def judged(result: Result, name: str) -> dict[str, Judgement]:
    """Return the judgement of a claim by platform."""
    (found,) = [each for each in judge_results([result]).judged if each.claim.name == name]
    return {each.platform: each for each in found.judgements}
