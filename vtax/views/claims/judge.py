"""Whether a claim holds for a result, platform by platform.

All numbers of a test have to lie where the claim says. Their intervals hold together: of so many comparisons each is
taken at as much more than 95% as makes it at least 95% for all (Bonferroni). A claim holds where each interval lies
wholly where it should; it does not where one lies wholly outside; else it is undecided, as it is where there is no
interval, or where some of what it speaks of was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from vtax.model.estimate import Estimate
from vtax.statistics.interval import CONFIDENCE
from vtax.views.claims.checks import AnyCheck, Asked
from vtax.views.claims.sample import Sample


class ClaimVerdict(StrEnum):
    """What is said of a claim on a platform."""

    HOLDS = "holds here"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNMEASURED = "not measured"


@dataclass(frozen=True)
class Effect:
    """A number that the test took, of the cells `where`, and what it says alone."""

    where: str
    estimate: Estimate
    verdict: ClaimVerdict


@dataclass(frozen=True)
class Judgement:
    """What is said of a claim on a platform, and all that it rests on.

    `decisive` is the effect that decides: of a claim that holds the one nearest to not holding, of one that does not
    the farthest from it, else the first that leaves it open. `missing` says why not all could be taken that the test
    takes.
    """

    platform: str
    emulated: bool
    verdict: ClaimVerdict
    decisive: Effect | None
    effects: tuple[Effect, ...]
    missing: tuple[str, ...]

    @property
    def told(self) -> str:
        """The verdict; an emulated CPU is always said with it."""
        return f"{self.verdict}, emulated CPU" if self.emulated else str(self.verdict)


def judge(test: AnyCheck, platform: str, emulated: bool, samples: Sequence[Sample]) -> Judgement:
    """Judge one platform by the samples of the test's quantity, those of all platforms."""
    own = [sample for sample in samples if sample.platform == platform]
    asked = test.ask(own, samples)
    effects, missing = _effects(test, asked)
    verdict = _together([effect.verdict for effect in effects], bool(missing))
    return Judgement(platform, emulated, verdict, _decisive(test, effects, verdict), effects, missing)


def verdict_of(
    low: float | None, high: float | None, above: float | None, below: float | None
) -> ClaimVerdict:
    """What an interval says of a number that is to lie above, or below, or between."""
    if low is None or high is None:
        return ClaimVerdict.UNDECIDED
    least = -math.inf if above is None else above
    most = math.inf if below is None else below
    if (above is None or low > least) and (below is None or high < most):
        return ClaimVerdict.HOLDS
    return ClaimVerdict.FAILS if high <= least or low >= most else ClaimVerdict.UNDECIDED


def _effects(test: AnyCheck, asked: Asked) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(asked.comparisons))
    effects, missing = [], list(asked.missing)
    for comparison in asked.comparisons:
        found = comparison.take(confidence)
        if found is None:
            missing.append(f"no repetition has both sides {comparison.where}".strip())
        else:
            verdict = verdict_of(found.low, found.high, test.above, test.below)
            effects.append(Effect(comparison.where, found, verdict))
    return tuple(effects), tuple(dict.fromkeys(missing))


def _together(verdicts: Sequence[ClaimVerdict], is_partial: bool) -> ClaimVerdict:
    if not verdicts:
        return ClaimVerdict.UNMEASURED
    if ClaimVerdict.FAILS in verdicts:
        return ClaimVerdict.FAILS
    return ClaimVerdict.UNDECIDED if is_partial or ClaimVerdict.UNDECIDED in verdicts else ClaimVerdict.HOLDS


def _decisive(test: AnyCheck, effects: Sequence[Effect], verdict: ClaimVerdict) -> Effect | None:
    of_verdict = [effect for effect in effects if effect.verdict is verdict] or list(effects)
    if verdict in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS):
        return min(of_verdict, key=lambda effect: _room(test, effect.estimate))
    return next(iter(of_verdict), None)


def _room(test: AnyCheck, found: Estimate) -> float:
    """How far the estimate lies within what is claimed; negative where it lies without."""
    above = math.inf if test.above is None else found.value - test.above
    below = math.inf if test.below is None else test.below - found.value
    return min(above, below)
