"""Whether vtax finds what was planted, to within a budget: a row for each quantity and size."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from validation.equivalence import Bounds, Budget, median_interval, microseconds
from validation.native.pairs import FLOODED, PACED, Found, Load, Pair, Series
from validation.section import Check


@dataclass(frozen=True)
class Quantity:
    """What vtax measures of a trial, what the program took of it, and how far the two may differ."""

    name: str
    load: Load
    measured_ns: Callable[[Found], float]
    true_ns: Callable[[Found], float]
    least_ns: float
    share: float
    """Of what was planted, where that is more than `least_ns`."""


QUANTITIES: Final = (
    Quantity(
        "median delay", PACED, lambda found: found.delay_p50_ns, lambda found: found.took.median_ns, 300, 0.05
    ),
    Quantity("CPU per frame", FLOODED, lambda found: found.cpu_ns, lambda found: found.took.mean_ns, 20, 0.1),
    Quantity(
        "1 / maximum", FLOODED, lambda found: found.period_ns, lambda found: found.took.mean_ns, 20, 0.1
    ),
)
COMPARED: Final = 2 * sum(len(quantity.load.planted_ns) for quantity in QUANTITIES)
"""Rows of both platforms."""


def checks_of(platform: str, series: Series) -> Iterator[Check]:
    """All of one platform's."""
    for quantity in QUANTITIES:
        for planted_ns in quantity.load.planted_ns:
            yield check(platform, quantity, planted_ns, series[quantity.load, planted_ns])


def check(platform: str, quantity: Quantity, planted_ns: int, pairs: Sequence[Pair]) -> Check:
    """Whether the median error lies within its budget."""
    measured_ns = [
        quantity.measured_ns(pair.planted) - quantity.measured_ns(pair.reference) for pair in pairs
    ]
    true_ns = [quantity.true_ns(pair.planted) - quantity.true_ns(pair.reference) for pair in pairs]
    errors_ns = [measured - true for measured, true in zip(measured_ns, true_ns, strict=True)]
    budget = Budget.either_way(max(quantity.least_ns, quantity.share * statistics.median(true_ns)))
    interval_ns = median_interval(errors_ns)
    holds = budget.holds(interval_ns)
    explanation = None
    if not holds and not budget.unexplained(errors_ns, COMPARED):
        own_ns = [quantity.measured_ns(pair.reference) for pair in pairs]
        explanation = budget.too_uneven((("the reference", own_ns),), _interval)
    return Check(
        f"{platform}: {quantity.name}, {planted_ns:,} ns planted",
        f"{_us(measured_ns)} µs, by the program {_us(true_ns)} µs: {statistics.median(errors_ns) / 1e3:+.3f} "
        f"{_interval(interval_ns)}, n = {len(pairs)}",
        f"within ±{budget.most / 1e3:.3f} µs",
        holds,
        explanation,
    )


def _interval(interval_ns: Bounds) -> str:
    return microseconds(interval_ns, 3)


def _us(values_ns: Sequence[float]) -> str:
    return f"{statistics.median(values_ns) / 1e3:.3f}"
