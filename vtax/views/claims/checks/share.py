"""How many of the followed packets a stage held up for long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from vtax.keys.fields import key
from vtax.model.estimate import Estimate
from vtax.views.claims.checks.check import Asked, Check, Comparison, place
from vtax.views.claims.readings.stages import STAGE_NS
from vtax.views.claims.sample import Sample, StageSample


class Share(Check):
    """The share of packets, 0 to 1, that took longer in a stage than `beyond_ns`: the mean over the repetitions."""

    kind: Annotated[Literal["share"], key("the share of packets that a stage held longer", "share")]
    beyond_ns: Annotated[float, key("longer than this", "0 or more", ge=0)]

    @property
    def quantity(self) -> str:
        """The delay of stages."""
        return STAGE_NS.name

    @property
    def takes(self) -> str:
        """The share, and of what."""
        return f"share of packets beyond {STAGE_NS.form(self.beyond_ns)} {STAGE_NS.unit}"

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A share a chosen stage."""
        chosen = self.chosen(own)
        shares = [
            (place(sample, chosen), sample.beyond(self.beyond_ns))
            for sample in chosen
            if isinstance(sample, StageSample)
        ]
        found = [Comparison(where, partial(_share, share)) for where, share in shares if share.values]
        return Asked(found, self.missing(chosen))


def _share(share: Sample, confidence: float) -> Estimate | None:
    """The mean share; its interval does not know a share's bounds, and is cut at them."""
    found = share.estimate(confidence)
    if found is None or found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
