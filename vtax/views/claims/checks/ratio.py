"""How many times a quantity is what it is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from vtax.keys.fields import key
from vtax.views.claims.checks.between import Between
from vtax.views.claims.checks.check import Asked
from vtax.views.claims.sample import Sample


class Ratio(Between):
    """The quantity of the cells `of`, divided by that of the cells `over`, in the same blocks.

    Geometric means, so that swapping the sides inverts it; runs of relays, which are no pairs, by Welch's interval.
    """

    kind: Annotated[Literal["ratio"], key("one cell's quantity over another's", "ratio")]

    @property
    def takes(self) -> str:
        """Both sides of the quotient."""
        return self.both("over")

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A ratio a chosen cell."""
        return self.pairs(Sample.ratio, own, samples)
