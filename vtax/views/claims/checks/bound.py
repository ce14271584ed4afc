"""How large a quantity is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from vtax.keys.fields import key
from vtax.views.claims.checks.check import Asked, Check, Comparison, place
from vtax.views.claims.sample import Sample


class Bound(Check):
    """The mean of a quantity over the repetitions, in its own unit."""

    in_unit = True

    kind: Annotated[Literal["bound"], key("a cell's quantity", "bound")]
    metric: Annotated[str, key("the quantity", "names of quantities", min_length=1)]

    @property
    def quantity(self) -> str:
        """As it is named."""
        return self.metric

    @property
    def takes(self) -> str:
        """The quantity."""
        return self.metric

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A mean a chosen cell."""
        chosen = self.chosen(own)
        found = [Comparison(place(sample, chosen), sample.estimate) for sample in chosen]
        return Asked(found, self.missing(chosen))
