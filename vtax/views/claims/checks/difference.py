"""How much more a quantity is than elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from vtax.keys.fields import key
from vtax.views.claims.checks.between import Between
from vtax.views.claims.checks.check import Asked
from vtax.views.claims.sample import Sample


class Difference(Between):
    """The quantity of the cells `of` less that of the cells `over`, in the same blocks and in its own unit."""

    in_unit = True

    kind: Annotated[Literal["difference"], key("one cell's quantity less another's", "difference")]

    @property
    def takes(self) -> str:
        """Both sides of the difference."""
        return self.both("less")

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """A difference a chosen cell."""
        return self.pairs(Sample.difference, own, samples)
