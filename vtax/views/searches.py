"""What searches found: loads by their loss, each goal with both bounds (RFC 9971)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from vtax.model.bound import Bound
from vtax.model.estimate import Estimate, repeated_estimate
from vtax.model.frames import FrameLevels
from vtax.model.level_labels import level_labels
from vtax.model.levels import Setting
from vtax.model.reading import any_levels, any_values, further_factors
from vtax.results import Result
from vtax.views.throughput import STEPS

_SEARCHES = """
WITH made AS (
    SELECT search, count(*) AS recorded, count(*) FILTER (verdict = 'invalid') AS invalid
    FROM trials WHERE search IS NOT NULL GROUP BY search
)
SELECT searches.search, goal, loss_ratio, {levels}, {further} AS further, min(lower_mbps) AS lower_mbps,
       max(upper_mbps) AS upper_mbps, bool_or(lower_mbps IS NULL) AS no_lower,
       bool_or(upper_mbps IS NULL) AS no_upper, list(conditional_mbps ORDER BY block) AS conditional_mbps,
       count(*) AS searches, sum(searches.trials) AS trials, sum(trial_s) AS trial_s,
       list(DISTINCT bounded_by) FILTER (bounded_by IS NOT NULL) AS bounded_by,
       any_value(invalid / recorded) AS left_out
FROM searches JOIN trials USING (trial_id) JOIN made ON made.search = searches.search
GROUP BY searches.search, goal, loss_ratio ORDER BY searches.search, loss_ratio
"""


class _Searched(Struct, frozen=True):
    """A goal of a cell's searches; `further` are the levels of the further factors."""

    search: str
    goal: str
    loss_ratio: float
    platform: str
    frame_bytes: int | None
    streams: int
    frame_mix: str | None
    further: list[str | None]
    lower_mbps: float | None
    upper_mbps: float | None
    no_lower: bool
    no_upper: bool
    conditional_mbps: list[float | None]
    searches: int
    trials: int
    trial_s: float
    bounded_by: list[str] | None
    left_out: float


@dataclass(frozen=True)
class Found:
    """A goal of a cell's searches, loads of each stream.

    The bounds hold all searches': the least lower and the largest upper one; None where a search has none.
    `conditional_mbps` is the mean conditional throughput, None where the least load already lost too much.
    `bounded_by` is what bounded it in the platform's stead; its loads are then read as *at least*.
    """

    platform: str
    setting: Setting
    goal: str
    loss_ratio: float
    lower_mbps: float | None
    upper_mbps: float | None
    conditional_mbps: Estimate | None
    searches: int
    trials: int
    trial_s: float
    left_out: float
    bounded_by: str | None
    bound: Bound


def read_searches(result: Result, platforms: tuple[str, ...]) -> list[Found]:
    """Every goal of every search that came to its end, in the order platform, setting, goal."""
    if not result.tables["searches"].num_rows:
        return []
    further = further_factors(result)
    levels = any_values(("platform", "frame_bytes", "streams", "frame_mix"))
    query = _SEARCHES.format(levels=levels, further=any_levels(further))
    rows = result.read(query, _Searched)
    labels = [level_labels(map(str, levels)) for levels in zip(*(row.further for row in rows), strict=True)]
    found = [_found(row, further, labels) for row in rows]
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(found, key=lambda row: (rank.get(row.platform, len(rank)), row.setting, row.loss_ratio))


def _found(row: _Searched, further: tuple[str, ...], labels: Sequence[Mapping[str, str]]) -> Found:
    known = [value for value in row.conditional_mbps if value is not None]
    bounded_by = ", ".join(sorted(row.bounded_by or ())) or None
    bound = Bound.AT_LEAST if bounded_by else Bound.EXACT
    levels = tuple((name, str(level)) for name, level in zip(further, row.further, strict=True))
    shown = tuple((name, of[level]) for (name, level), of in zip(levels, labels, strict=True))
    return Found(
        platform=row.platform,
        setting=Setting(FrameLevels(row.frame_bytes, row.streams, row.frame_mix), levels, shown),
        goal=row.goal,
        loss_ratio=row.loss_ratio,
        lower_mbps=None if row.no_lower else row.lower_mbps,
        upper_mbps=None if row.no_upper else row.upper_mbps,
        conditional_mbps=repeated_estimate(known, row.left_out, STEPS).read_as(bound) if known else None,
        searches=row.searches,
        trials=row.trials,
        trial_s=row.trial_s,
        left_out=row.left_out,
        bounded_by=bounded_by,
        bound=bound,
    )
