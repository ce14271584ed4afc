"""Whether a quantity goes one way with a factor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from vtax.keys.fields import PlainScalar, key
from vtax.scenario.grid import text
from vtax.views.claims.checks.check import Asked, Check, Comparison, comparable, place, unmeasured
from vtax.views.claims.sample import Sample


class Trend(Check):
    """The quantity at each level of a factor, divided by that at the level before: above 1 it rises all the way."""

    kind: Annotated[Literal["trend"], key("a quantity from level to level of a factor", "trend")]
    metric: Annotated[str, key("the quantity", "names of quantities", min_length=1)]
    factor: Annotated[str, key("the factor", "names of factors", min_length=1)]
    levels: Annotated[
        list[PlainScalar], Field(min_length=2), key("its levels in their order", "a list of two or more")
    ]

    @property
    def quantity(self) -> str:
        """As it is named."""
        return self.metric

    @property
    def factors(self) -> list[str]:
        """Those of its cells and its own."""
        return [*self.at, self.factor]

    @property
    def takes(self) -> str:
        """The steps."""
        return f"{self.metric} from step to step of {self.factor}={','.join(map(text, self.levels))}"

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A ratio a step, of every setting that is alike in all else."""
        chosen = [
            sample
            for sample in self.chosen(own)
            if sample.levels.get(self.factor) in [text(level) for level in self.levels]
        ]
        asked = Asked([], self.missing(chosen))
        for before, after in pairwise(map(text, self.levels)):
            reached = [sample for sample in chosen if sample.levels[self.factor] == after]
            if chosen and not reached:
                asked.missing.append(unmeasured(f"{self.factor}={after}"))
            for sample in reached:
                where = place(sample, chosen, [self.factor])
                other = comparable(sample, chosen, {self.factor: before}, where)
                if isinstance(other, str):
                    asked.missing.append(other)
                else:
                    step = f"{self.factor}={before} to {after}"
                    shown = ", ".join(part for part in (step, where) if part)
                    asked.comparisons.append(Comparison(shown, partial(sample.ratio, other)))
        return asked
