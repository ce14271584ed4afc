"""What bounded each cell's throughput or goodput in the platform's stead, of a result of any kind of workload."""

from __future__ import annotations

from msgspec import Struct

from vtax.results import Result
from vtax.views.bound import Limit, main_limit
from vtax.views.bulk_cells import read_bulk_cells
from vtax.views.cells import (
    GENERATOR_LIMITED,
    LIMIT_UNKNOWN,
    LIMITS,
    LINK_LIMITED,
    OWN_LIMIT,
    UPLINK_LIMITED,
    USABLE,
)
from vtax.views.goodput import goodput_limits
from vtax.views.provenance import BULK, FORWARDING, workload_kind

# A stated load is carried or not; how much more a platform could forward is asked of a flood alone.
_FLOODS = f"""
WITH {USABLE}, flow AS (
    SELECT trial_id, sum(frames_lost) / nullif(sum(frames_sent), 0) AS loss_ratio
    FROM flows WHERE role = 'victim' GROUP BY trial_id
)
SELECT usable.cell, usable.uut_context, {OWN_LIMIT} AS number
FROM usable JOIN flow USING (trial_id) JOIN (SELECT trial_id, intended_mbps FROM trials) USING (trial_id)
WHERE intended_mbps IS NULL
"""  # noqa: S608, made of constants

_SEARCHES = f"""
WITH {USABLE}
SELECT searches.search || ' goal=' || goal AS cell, uut_context, bounded_by
FROM searches JOIN usable USING (trial_id) WHERE bounded_by IS NOT NULL
"""  # noqa: S608, made of constants
_OF_MARK = {
    GENERATOR_LIMITED: Limit.GENERATOR,
    LINK_LIMITED: Limit.LINK,
    UPLINK_LIMITED: Limit.LINK,
    LIMIT_UNKNOWN: Limit.UNKNOWN,
}
"""Of a search that no mark bounded, its largest load did."""


class _Bounded(Struct, frozen=True):
    """A goal of a search, and the mark of what bounded it."""

    cell: str
    uut_context: str
    bounded_by: str


def cell_limits(result: Result) -> dict[tuple[str, str], Limit]:
    """The limit of each cell, and of each goal of a search, by its key and context; exact ones have none."""
    kind, scenario = workload_kind(result), result.scenario
    found: dict[tuple[str, str], list[Limit | None]] = {}
    if scenario.get("search"):
        for row in result.read(_SEARCHES, _Bounded):
            bounded_by = _OF_MARK.get(row.bounded_by, Limit.OFFERED)
            found.setdefault((row.cell, row.uut_context), []).append(bounded_by)
    elif kind == FORWARDING:
        columns = result.query(_FLOODS).columns
        for cell, context, number in zip(*(column.to_pylist() for column in columns), strict=True):
            found.setdefault((cell, context), []).append(LIMITS[number])
    elif kind == BULK:
        testbed = scenario.get("testbed") or {}
        for each in read_bulk_cells(result):
            found[each.key, "unknown"] = [*goodput_limits(each, testbed).values()]
    return {key: limit for key, limits in found.items() if (limit := main_limit(limits))}
