"""The maximum over loads: the throughput that a platform reaches at the load that suits it best."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from vtax.statistics.interval import CONFIDENCE, Interval, mean_interval

Load = TypeVar("Load", bound=Hashable)


@dataclass(frozen=True)
class Selection(Generic[Load]):
    """The load with the largest mean.

    `by_block` holds its value in each block, for pairing. `selection_corrected` is False: the interval is
    that of the load as if it had been chosen beforehand. The largest of several means is biased upwards, by
    less the further it stands out and the narrower the intervals are; views say so beside the number.
    """

    load: Load
    interval: Interval
    by_block: Mapping[int, float]
    selection_corrected: bool = False


def select_maximum(
    loads: Mapping[Load, Mapping[int, float]], confidence: float = CONFIDENCE
) -> Selection[Load] | None:
    """Return the load whose mean over its blocks is the largest (schlosser2011 3.3, Fig. 4).

    `loads` maps each load to {block: value}. Of equal means the first one counts; loads without values are
    passed over; None where no load has any.
    """
    candidates = [
        Selection(load, mean_interval(list(by_block.values()), confidence), dict(by_block))
        for load, by_block in loads.items()
        if by_block
    ]
    return max(candidates, key=lambda candidate: candidate.interval.mean, default=None)
