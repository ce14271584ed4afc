"""What following packets adds to their delay: traced trials against untraced ones, paired within blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

from msgspec import Struct

from vtax.model.estimate import Estimate, estimate
from vtax.model.metrics import LATENCY_P50
from vtax.model.recorded import Recorded
from vtax.results import Result
from vtax.statistics import paired_difference
from vtax.statistics.resolution import step_of_difference, wider_by

Medians = dict[int, float]
"""A cell's median delay or response time by block, ns."""

_MEDIANS = """
SELECT cell, block, avg(latency_p50_ns) AS p50_ns FROM trials JOIN flows USING (trial_id)
WHERE verdict <> 'invalid' AND latency_p50_ns IS NOT NULL AND coalesce(clock_error_ns, 0) = 0
GROUP BY cell, block ORDER BY cell, block
"""


class _Median(Struct, frozen=True):
    """A cell's median delay or response time in a block."""

    cell: str
    block: int
    p50_ns: float


def added_by_tracing(result: Result, twins: Mapping[str, tuple[Recorded, Recorded]]) -> dict[str, Estimate]:
    """By traced cell, what is added to the median delay or response time, ns; none without a block in common.

    `twins` are each traced cell and the untraced one that is alike in all else.
    """
    if not twins:
        return {}
    medians: dict[str, Medians] = defaultdict(dict)
    for row in result.read(_MEDIANS, _Median):
        medians[row.cell][row.block] = row.p50_ns
    added = {}
    for key, (traced, untraced) in twins.items():
        own, other = medians[traced.key], medians[untraced.key]
        difference = paired_difference(own, other)
        left_out = (traced.invalid + untraced.invalid) / (traced.recorded + untraced.recorded)
        if difference is not None:
            steps = (LATENCY_P50.resolution_of(()).at(fmean(side.values())) for side in (own, other))
            added[key] = estimate(wider_by(difference, step_of_difference(*steps)), left_out)
    return added
