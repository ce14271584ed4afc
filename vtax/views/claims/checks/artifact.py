"""Whether rounds of relays show a timing artifact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

from vtax.keys.fields import key
from vtax.model.estimate import Estimate, estimate
from vtax.statistics import proportion_interval
from vtax.statistics.artifacts import Finding, NotEnough
from vtax.statistics.artifacts.detect import FALSE_ALARMS
from vtax.statistics.artifacts.moving import look_for_moves
from vtax.statistics.artifacts.periodic import look_for_lines
from vtax.statistics.artifacts.series import Series
from vtax.views.claims.checks.check import Asked, Check, Comparison, place, unmeasured
from vtax.views.claims.readings.runs import ROUND_NS
from vtax.views.claims.sample import RunSample, Sample

DETECTORS: dict[str, Callable[[Series], Finding | NotEnough]] = {
    "lines": look_for_lines,
    "moves": look_for_moves,
}
RUNS = 5
"""Runs that a block has at least: as many as the detector of a memory between runs takes."""


class Artifact(Check):
    """The share of blocks in whose runs the detector finds the artifact.

    A finding has a p value and no interval; that it comes in one block after another has the binomial one. Where there
    is no artifact, at most 1% of blocks show one.
    """

    kind: Annotated[Literal["artifact"], key("the share of blocks of runs that show an artifact", "artifact")]
    of: Annotated[
        Literal["lines", "moves"],
        key(
            "lines: iterations that are slow in every run; moves: such that move from run to run",
            "lines, moves",
        ),
    ]

    @property
    def quantity(self) -> str:
        """The times of rounds."""
        return ROUND_NS.name

    @property
    def takes(self) -> str:
        """The share, and of what."""
        return f"share of blocks of {RUNS} runs or more that show {self.of}"

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A share a chosen ring or load; blocks that are too short for the detector are none."""
        chosen = self.chosen(own)
        asked = Asked([], self.missing(chosen))
        for sample in chosen:
            if not isinstance(sample, RunSample):
                continue
            where, shown = place(sample, chosen), self._shown(sample)
            if shown:
                asked.comparisons.append(Comparison(where, partial(_share, sample, shown)))
            else:
                asked.missing.append(unmeasured(f"{RUNS} runs of enough rounds in a block", where))
        return asked

    def _shown(self, sample: RunSample) -> list[bool]:
        answers = [DETECTORS[self.of](Series.of(ns)) for ns in sample.by_block if len(ns) >= RUNS]
        return [answer.p_value <= FALSE_ALARMS for answer in answers if isinstance(answer, Finding)]


def _share(sample: Sample, shown: Sequence[bool], confidence: float) -> Estimate:
    found = proportion_interval(sum(shown), len(shown), confidence)
    return estimate(found, sample.invalid / sample.recorded)
