"""What tests have in common that compare two cells which differ in some levels alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from vtax.keys.fields import key
from vtax.model.estimate import Estimate
from vtax.views.claims.checks.check import Asked, Check, Comparison, Level, comparable, levels_of, place
from vtax.views.claims.sample import Sample
from vtax.views.levels import words

Take = Callable[[Sample, Sample, float], Estimate | None]


class Between(Check):
    """A test of cells `of` some levels against the cells with the levels `over`, all else alike."""

    metric: Annotated[str, key("the quantity that is compared", "names of quantities", min_length=1)]
    of: dict[str, Level] = key(
        "levels of the cells it is about", "names of factors with a level", default_factory=dict
    )
    over: Annotated[
        dict[str, Level],
        key("levels of the cells they are compared with", "names of factors with a level", min_length=1),
    ]

    @property
    def quantity(self) -> str:
        """As it is named."""
        return self.metric

    @property
    def factors(self) -> list[str]:
        """Those of its cells and of both sides."""
        return [*self.at, *self.of, *self.over]

    @property
    def subject(self) -> str | None:
        """The platform of its cells, where one is named."""
        named = self.of.get("platform")
        return None if named is None else str(named)

    def both(self, joint: str) -> str:
        """Both sides of the number, in words."""
        of, over = words(levels_of(self.of)), words(levels_of(self.over))
        return f"{self.metric} of {of} {joint} {over}" if of else f"{self.metric} {joint} that of {over}"

    def pairs(self, take: Take, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A comparison of every chosen cell with the other; `take` forms its number."""
        chosen = self.chosen(own, self.of)
        asked = Asked([], self.missing(chosen))
        for sample in chosen:
            where = place(sample, chosen)
            other = comparable(sample, samples, levels_of(self.over), where)
            if isinstance(other, str):
                asked.missing.append(other)
            else:
                asked.comparisons.append(Comparison(where, partial(take, sample, other)))
        return asked
