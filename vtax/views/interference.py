"""Interference: what a neighbour's behaviour does to a metric of the guest beside it, paired within blocks.

A ratio of 1 is no difference. It is taken against the same number of neighbours at rest and against no neighbour,
whichever of these were measured, everything else alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from vtax.statistics import Interval, paired_ratio
from vtax.views import numbers
from vtax.views.bulk_cells import BulkCell, BulkTrial
from vtax.views.estimate import Estimate, estimate
from vtax.views.recorded import Further
from vtax.views.responses import Responses
from vtax.views.tax import ratio_of
from vtax.views.throughput import Maximum

BEHAVIOUR, GUESTS, LOAD_SHARE = "neighbours", "neighbour_guests", "load_share"
IDLE, NONE = "idle", "none"
BOUNDED = "~"
"""Before a ratio a side of which is only a lower bound."""
ORDER = (NONE, IDLE, "light", "heavy", "forward", "bulk", "requests")
OF_BEHAVIOUR = (BEHAVIOUR, GUESTS, LOAD_SHARE)
"""Factors that tell one aggressor from another."""


@dataclass(frozen=True)
class Interference:
    """`victim` is what the guest does and in which setting, `aggressor` what its neighbours do.

    `reference` is `idle` or `none`. `bounded` tells that a side of the ratio is only a lower bound.
    """

    platform: str
    metric: str
    victim: str
    aggressor: str
    reference: str
    ratio: Estimate
    bounded: bool = False

    @property
    def shown(self) -> str:
        """The ratio without its interval."""
        return (BOUNDED if self.bounded else "") + numbers.ratio(self.ratio.value)


class _Row(Protocol):
    @property
    def platform(self) -> str: ...


Row = TypeVar("Row", bound=_Row)


def interference(
    scenario: Mapping[str, Any],
    maxima: Iterable[Maximum],
    responses: Iterable[Responses],
    bulk: Iterable[BulkCell],
) -> list[Interference]:
    """Every measured pair, in the order of the behaviours; empty where no factor tells of neighbours."""
    testbed = scenario.get("testbed") or {}
    return [
        *_pairs(list(maxima), testbed, "maximum throughput", _at_maximum, _maximum_ratio),
        *_pairs(list(responses), testbed, "mean response time", _of_requests, _time_ratio),
        *_pairs(list(bulk), testbed, "goodput", _of_streams, _goodput_ratio),
    ]


def _pairs(
    rows: Sequence[Row],
    testbed: Mapping[str, Any],
    metric: str,
    of: Callable[[Row], tuple[str, Further]],
    ratio: Callable[[Row, Row], tuple[Interval | None, float, bool]],
) -> list[Interference]:
    """`of` gives a row's setting in words and its further levels; `ratio` also what was left out, and if it bounds."""
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
            interval, left_out, bounded = ratio(row, other)
            if interval is None:
                continue
            rest = [f"{name} = {value}" for name, value in levels if name not in OF_BEHAVIOUR]
            found.append(
                Interference(
                    platform,
                    metric,
                    ", ".join([fixed, *rest]),
                    _aggressor(levels, testbed),
                    reference,
                    estimate(interval, left_out),
                    bounded,
                )
            )
    return found


def _rank(levels: Further, testbed: Mapping[str, Any]) -> tuple[int, int, float]:
    """Behaviours come in one order, the fewest neighbours and the least load of each first."""
    return ORDER.index(_behaviour(levels, testbed)), int(_guests(levels, testbed)), _share(levels, testbed)


def _behaviour(levels: Further, testbed: Mapping[str, Any]) -> str:
    if _guests(levels, testbed) == "0":
        return NONE
    return dict(levels).get(BEHAVIOUR, str(testbed.get(BEHAVIOUR, NONE)))


def _guests(levels: Further, testbed: Mapping[str, Any]) -> str:
    return dict(levels).get(GUESTS, str(testbed.get(GUESTS, 1)))


def _share(levels: Further, testbed: Mapping[str, Any]) -> float:
    return float(dict(levels).get(LOAD_SHARE, testbed.get(LOAD_SHARE, 0.5)))


def _candidates(levels: Further, testbed: Mapping[str, Any], reference: str) -> list[Further]:
    """The levels of what a row is compared with, the likest first."""
    replaced = [_with(levels, BEHAVIOUR, reference)]
    if reference == NONE:
        replaced.append(_with(levels, GUESTS, "0"))
    return [other for other in replaced if other != levels and _behaviour(other, testbed) == reference]


def _with(levels: Further, factor: str, level: str) -> Further:
    return tuple((name, level if name == factor else value) for name, value in levels)


def _aggressor(levels: Further, testbed: Mapping[str, Any]) -> str:
    """What the neighbours do, in a few words: `2 x bulk`, `forward at 50%`."""
    behaviour, count = _behaviour(levels, testbed), _guests(levels, testbed)
    share = f" at {100 * _share(levels, testbed):g}%" if behaviour == "forward" else ""
    words = behaviour + share
    return words if count == "1" else f"{count} x {words}"


def _at_maximum(row: Maximum) -> tuple[str, Further]:
    setting = row.setting
    streams = f"{setting.streams} stream{'s' if setting.streams > 1 else ''}"
    return f"forwarding, {setting.frames}, {streams}, {row.uut_context} context", setting.further


def _maximum_ratio(row: Maximum, other: Maximum) -> tuple[Interval | None, float, bool]:
    return ratio_of(row, other), _left_out(row.cell, other.cell), row.lower_bound or other.lower_bound


def _of_requests(row: Responses) -> tuple[str, Further]:
    setting = row.setting
    words = f"requests, {setting.transport.upper()} {setting.placement}, {row.message_bytes} byte"
    return f"{words}, {setting.response_bytes or 'equal'} back", setting.further


def _time_ratio(row: Responses, other: Responses) -> tuple[Interval | None, float, bool]:
    return paired_ratio(row.mean_by_block_ns, other.mean_by_block_ns), _left_out(row, other), False


def _of_streams(row: BulkCell) -> tuple[str, Further]:
    setting = row.setting
    words = f"bulk, {setting.direction}, {setting.transport.upper()} {setting.placement}"
    return f"{words}, {setting.message_bytes or 'default'} byte", setting.further


def _goodput_ratio(row: BulkCell, other: BulkCell) -> tuple[Interval | None, float, bool]:
    return paired_ratio(row.by_block(_goodput), other.by_block(_goodput)), _left_out(row, other), False


def _goodput(trial: BulkTrial) -> float:
    return sum(trial.goodput_mbps.values())


class _Counted(Protocol):
    @property
    def recorded(self) -> int: ...
    @property
    def invalid(self) -> int: ...


def _left_out(row: _Counted, other: _Counted) -> float:
    return (row.invalid + other.invalid) / (row.recorded + other.recorded)
