"""Times of answers where some never came: those count as later than every other, as lost probes do.

A quantile counts them. A mean cannot: that of the answers that came is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from vtax.model.bound import Limit
from vtax.model.cell import Aside, Cell
from vtax.model.metrics import LOSS

UNANSWERED = Aside("unanswered", f"max({LOSS.column})", needs=(LOSS,))
"""The greatest share of a block's trials that was not answered."""


def unanswered_limits(cell: Cell) -> Mapping[int, Limit]:
    """Return what bounds the mean time of answers, by block: that some never came."""
    return {block: Limit.UNANSWERED for block, share in cell.by_block(UNANSWERED.column).items() if share}
