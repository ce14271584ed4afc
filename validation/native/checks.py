"""Whether vtax finds what was planted, to within a budget: a row for each quantity and size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from validation.equivalence import Bounds, Budget, median_interval, microseconds
from validation.native.pairs import PLANTED_NS, Name, Pair, Series
from validation.section import Check


@dataclass(frozen=True)
class Allowed:
    """How far vtax may be off."""

    least_ns: float
    share: float
    """Of what was planted, where that is more."""


ALLOWED: Final[dict[Name, Allowed]] = {
    "median delay": Allowed(300, 0.05),
    "CPU per frame": Allowed(20, 0.1),
    "1 / maximum": Allowed(20, 0.1),
}
COMPARED: Final = 2 * sum(map(len, PLANTED_NS.values()))
"""Rows of both platforms."""


def checks_of(platform: str, series: Series) -> Iterator[Check]:
    """All of one platform's."""
    for (name, planted_ns), pairs in series.items():
        yield check(platform, name, planted_ns, pairs)


def check(platform: str, name: Name, planted_ns: int, pairs: Sequence[Pair]) -> Check:
    """Whether the median error lies within its budget."""
    measured_ns, true_ns = (
        median(pair.measured_ns for pair in pairs),
        median(pair.true_ns for pair in pairs),
    )
    errors_ns = [pair.measured_ns - pair.true_ns for pair in pairs]
    budget = Budget.either_way(max(ALLOWED[name].least_ns, ALLOWED[name].share * true_ns))
    interval_ns = median_interval(errors_ns)
    holds = budget.holds(interval_ns)
    explanation = None
    if not holds and not budget.unexplained(errors_ns, COMPARED):
        own_ns = [pair.reference_ns for pair in pairs]
        explanation = budget.too_uneven((("the reference", own_ns),), _interval)
    return Check(
        f"{platform}: {name}, {planted_ns:,} ns planted",
        f"{measured_ns / 1e3:.3f} µs, by the program {true_ns / 1e3:.3f} µs: {median(errors_ns) / 1e3:+.3f} "
        f"{_interval(interval_ns)}, n = {len(pairs)}",
        f"within ±{budget.most / 1e3:.3f} µs",
        holds,
        explanation,
    )


def _interval(interval_ns: Bounds) -> str:
    return microseconds(interval_ns, 3)
