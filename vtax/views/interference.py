"""Interference: what a neighbour's behaviour does to a metric of the guest beside it, paired within blocks.

A ratio of 1 is no difference. It is taken against the same number of neighbours at rest and against no neighbour,
whichever of these were measured, everything else alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import JsonValue

from vtax.model import numbers
from vtax.model.bound import Limit, bounded_sides
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate
from vtax.model.levels import Further
from vtax.model.metric import Metric
from vtax.model.sample import Sample
from vtax.results.stored import StoredScenario
from vtax.views.tax import ratio_of
from vtax.views.throughput import Maximum

BEHAVIOUR, GUESTS, LOAD_SHARE = "neighbours", "neighbour_guests", "load_share"
IDLE, NONE = "idle", "none"
ORDER = (NONE, IDLE, "light", "heavy", "forward", "bulk", "requests")
OF_BEHAVIOUR = (BEHAVIOUR, GUESTS, LOAD_SHARE)
"""Factors that tell one aggressor from another."""


@dataclass(frozen=True)
class Interference:
    """`victim` is what the guest does and in which setting, `aggressor` what its neighbours do.

    `reference` is `idle` or `none`. `bound_reason` says which side of the ratio is only a lower bound, and
    what bounded it.
    """

    platform: str
    metric: str
    victim: str
    aggressor: str
    reference: str
    ratio: Estimate
    bound_reason: str = ""

    @property
    def shown(self) -> str:
        """The ratio without its interval."""
        return numbers.amount(self.ratio, numbers.ratio)


Compared = tuple[Estimate | None, Limit | None, Limit | None]
"""A ratio, and what bounded the guest's side and the reference's."""


class _Row(Protocol):
    @property
    def platform(self) -> str: ...


Row = TypeVar("Row", bound=_Row)


def interference(
    scenario: StoredScenario,
    maxima: Iterable[Maximum],
    cells: Iterable[Cell],
    disturbed: Metric | None,
) -> list[Interference]:
    """Return every measured pair, in the order of the behaviours; none where no factor is about neighbours.

    Cells are compared in the metric `disturbed`, frames in their maxima."""
    testbed = scenario.get("testbed") or {}
    return [
        *_pairs(list(maxima), testbed, "maximum throughput", _at_maximum, _maximum_ratio),
        *(_of_cells(list(cells), disturbed, testbed) if disturbed else ()),
    ]


def _pairs(
    rows: Sequence[Row],
    testbed: Mapping[str, JsonValue],
    metric: str,
    of: Callable[[Row], tuple[str, Further]],
    ratio: Callable[[Row, Row], Compared],
) -> list[Interference]:
    """`of` gives a row's setting in words and its further levels."""
    by_levels = {(row.platform, *of(row)): row for row in rows}
    found = []
    ordered = sorted(by_levels.items(), key=lambda item: _rank(item[0][2], testbed))
    for (platform, fixed, levels), row in ordered:
        own = _behaviour(levels, testbed)
        if own == NONE:
            continue
        for reference in (IDLE, NONE):
            if reference == own:
                continue
            other = next(
                (
                    by_levels[platform, fixed, candidate]
                    for candidate in _candidates(levels, testbed, reference)
                    if (platform, fixed, candidate) in by_levels
                ),
                None,
            )
            if other is None:
                continue
            found_ratio, limit, other_limit = ratio(row, other)
            if found_ratio is None:
                continue
            aggressor = _aggressor(levels, testbed)
            rest = [f"{name} = {value}" for name, value in levels if name not in OF_BEHAVIOUR]
            found.append(
                Interference(
                    platform,
                    metric,
                    ", ".join([fixed, *rest]),
                    aggressor,
                    reference,
                    found_ratio,
                    bounded_sides([(reference, other_limit), (aggressor, limit)]),
                )
            )
    return found


def _rank(levels: Further, testbed: Mapping[str, JsonValue]) -> tuple[int, int, float]:
    """Behaviours come in one order, the fewest neighbours and the least load of each first."""
    return ORDER.index(_behaviour(levels, testbed)), int(_guests(levels, testbed)), _share(levels, testbed)


def _behaviour(levels: Further, testbed: Mapping[str, JsonValue]) -> str:
    if _guests(levels, testbed) == "0":
        return NONE
    return dict(levels).get(BEHAVIOUR, str(testbed.get(BEHAVIOUR, NONE)))


def _guests(levels: Further, testbed: Mapping[str, JsonValue]) -> str:
    return dict(levels).get(GUESTS, str(testbed.get(GUESTS, 1)))


def _share(levels: Further, testbed: Mapping[str, JsonValue]) -> float:
    return float(dict(levels).get(LOAD_SHARE, str(testbed.get(LOAD_SHARE, 0.5))))


def _candidates(levels: Further, testbed: Mapping[str, JsonValue], reference: str) -> list[Further]:
    """The levels of what a row is compared with, the likest first."""
    replaced = [_with(levels, BEHAVIOUR, reference)]
    if reference == NONE:
        replaced.append(_with(levels, GUESTS, "0"))
    return [other for other in replaced if other != levels and _behaviour(other, testbed) == reference]


def _with(levels: Further, factor: str, level: str) -> Further:
    return tuple((name, level if name == factor else value) for name, value in levels)


def _aggressor(levels: Further, testbed: Mapping[str, JsonValue]) -> str:
    """What the neighbours do, in a few words: `2 x bulk`, `forward at 50%`."""
    behaviour, count = _behaviour(levels, testbed), _guests(levels, testbed)
    share = f" at {100 * _share(levels, testbed):g}%" if behaviour == "forward" else ""
    words = behaviour + share
    return words if count == "1" else f"{count} x {words}"


def _at_maximum(row: Maximum) -> tuple[str, Further]:
    phrases = ", ".join(row.setting.levels.phrases)
    return f"forwarding, {phrases}, {row.uut_context} context", row.setting.further


def _maximum_ratio(row: Maximum, other: Maximum) -> Compared:
    return ratio_of(row, other), row.limit, other.limit


def _of_cells(cells: Sequence[Cell], metric: Metric, testbed: Mapping[str, JsonValue]) -> list[Interference]:
    """The pairs of cells in a metric."""

    def ratio(cell: Cell, other: Cell) -> Compared:
        own, others = cell.sample(metric), other.sample(metric)
        return _compared(own, others) if own and others else (None, None, None)

    return _pairs(cells, testbed, metric.title, lambda cell: (cell.name, cell.setting.further), ratio)


def _compared(own: Sample, other: Sample) -> Compared:
    return own.ratio(other), own.limit, other.limit
