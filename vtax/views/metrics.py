"""What campaigns are compared in: for each kind of workload its metrics, with the values of every repetition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from msgspec import Struct

from vtax.model.bound import Bound, Limit, main_limit
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate, repeated_estimate
from vtax.model.levels import Level
from vtax.model.marks import GENERATOR_LIMITED, LIMIT_UNKNOWN, LINK_LIMITED, UPLINK_LIMITED
from vtax.model.metric import Metric
from vtax.model.metrics import THROUGHPUT
from vtax.model.reading import USABLE, read_cells
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.statistics import Resolution, repeated_mean
from vtax.views.provenance import workload_kind

METRICS = {kind: catalogue.metrics for kind, catalogue in CATALOGUES.items()}
"""By kind of workload."""

ALL = tuple(dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics))

# Of a search the loads are chosen by what they lost: its trials are no repetitions of anything, what it found is.
_SEARCHED = f"""
WITH {USABLE}, goals AS (
    SELECT searches.search || ' goal=' || goal AS cell, platform, uut_context, block, conditional_mbps,
           bounded_by, marks
    FROM searches JOIN usable USING (trial_id)
)
SELECT cell, uut_context, any_value(platform) AS platform, count(*) AS blocks,
       list(conditional_mbps ORDER BY block) FILTER (conditional_mbps IS NOT NULL) AS received_mbps,
       list(bounded_by) FILTER (bounded_by IS NOT NULL) AS bounded_by, flatten(list(coalesce(marks, []))) AS marks
FROM goals GROUP BY cell, uut_context ORDER BY cell, uut_context
"""  # noqa: S608, made of constants

_RECORDED = "SELECT DISTINCT cell FROM untraced"
_SEARCHES_RECORDED = (
    "SELECT DISTINCT search || ' goal=' || goal AS cell FROM searches JOIN untraced USING (trial_id)"
)
_OF_MARK = {
    GENERATOR_LIMITED: Limit.GENERATOR,
    LINK_LIMITED: Limit.LINK,
    UPLINK_LIMITED: Limit.LINK,
    LIMIT_UNKNOWN: Limit.UNKNOWN,
}
"""Of a search that no mark bounded, its largest load did."""


class _Goal(Struct, frozen=True):
    """What the searches of a cell found for a goal, a value a block, and the marks of what bounded them."""

    cell: str
    uut_context: str
    platform: str
    blocks: int
    received_mbps: list[float] | None
    bounded_by: list[str] | None
    marks: list[str]


Key = tuple[str, str]
"""A cell and the context in which it forwarded."""


@dataclass(frozen=True)
class MeasuredCell:
    """A cell's values of each metric by name, one a repetition that has it; `blocks` counts the usable ones.

    `steps` are the widths of the steps that values come in, in the metric's unit, of metrics that record them.
    `limits` are what bounded metrics in the platform's stead, by name: of these there is only a lower bound.
    `late` counts the repetitions by metric whose value is withheld since the source was too late. `by_block` has the
    values by block, by metric, where cells of one campaign are compared block by block; else it is empty. `loads` are
    those that are taken together, which are cells of their own; empty of any other cell. `less_than` has by metric what
    was offered, a value a repetition, at a load that shows that the metric is less.
    """

    cell: str
    uut_context: str
    platform: str
    blocks: int
    values: Mapping[str, Sequence[float]]
    marks: tuple[str, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    by_block: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    loads: frozenset[Level] = frozenset()
    less_than: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def values_of(self, metric: Metric) -> Sequence[float]:
        """Return a metric's values; none of one that such cells do not have."""
        return self.values.get(metric.name, ())

    def lacks(self, metric: Metric) -> int:
        """How many repetitions have no value of a quantile though their source was in time: they may have lost it."""
        if not metric.quantile:
            return 0
        return self.blocks - len(self.values_of(metric)) - self.late.get(metric.name, 0)

    def resolution(self, metric: Metric) -> Resolution:
        """Return how finely a metric's values are known."""
        return metric.resolution_of([self.steps.get(metric.name, 0.0)])

    def limit_of(self, metric: Metric) -> Limit | None:
        """What bounded a metric; None where its values are the platform's own."""
        return self.limits.get(metric.name)

    def bound(self, metric: Metric) -> Bound:
        """How a metric's mean is read."""
        return Bound.of([self.limit_of(metric)])

    def step(self, metric: Metric) -> float:
        """Return the width of the steps that a metric's values come in, in its unit; it needs a value."""
        return self.resolution(metric).at(fmean(self.values_of(metric)))

    def mean(self, metric: Metric, *, adaptive: bool) -> Estimate | None:
        """Return a metric's mean, whatever stands apart; None where it has no value.

        `adaptive` values decided how many there are.
        """
        values = self.values_of(metric)
        if not values:
            return None
        mean = repeated_estimate(values, 0.0, self.resolution(metric), repeated_mean(adaptive=adaptive))
        return mean.read_as(self.bound(metric))


def step_of_change(metric: Metric, sides: Iterable[tuple[float, float]]) -> float:
    """Return the width of the steps of a change: a share of the smaller side or, of a metric in points, as it is.

    `sides` are each side's step and its mean, in the metric's unit.
    """
    if metric.points:
        return max(step for step, _ in sides)
    return max((step / mean for step, mean in sides if mean), default=metric.resolution)


def metrics_of(result: Result) -> tuple[Metric, ...]:
    """What its campaign measured; only what searches found where they chose the loads.

    KeyError where its kind of workload has no metrics.
    """
    if is_searched(result):
        return (THROUGHPUT,)
    return METRICS[workload_kind(result)]


def read_measured(result: Result, *, by_block: bool = False) -> dict[Key, MeasuredCell]:
    """Return every cell with a usable trial; repetitions without a value are left out of its lists.

    `by_block` keeps of which block each value is; what searches found is kept without.
    """
    if is_searched(result):
        return {(row.cell, row.uut_context): _found(row) for row in result.read(_SEARCHED, _Goal)}
    metrics = metrics_of(result)
    cells = read_cells(result, CATALOGUES[workload_kind(result)].reading, metrics)
    return measured_cells(cells, metrics, by_block=by_block)


def measured_cells(
    cells: Sequence[Cell], metrics: Sequence[Metric], *, by_block: bool = False
) -> dict[Key, MeasuredCell]:
    """Return what is compared of those of these cells that have a usable trial, in the order of their names."""
    usable = sorted((cell.key, cell.uut_context, place) for place, cell in enumerate(cells) if cell.is_usable)
    return {(key, context): _measured(cells[place], metrics, by_block) for key, context, place in usable}


def recorded_names(result: Result) -> frozenset[str]:
    """Return the name of every cell that has a recorded trial, usable or not, as `read_measured` names cells."""
    rows = result.columns(_SEARCHES_RECORDED if is_searched(result) else _RECORDED)
    return frozenset(rows["cell"].to_pylist())


def is_searched(result: Result) -> bool:
    """Whether its campaign chose each load by what the ones before lost."""
    return bool(result.scenario.get("search"))


def _found(goal: _Goal) -> MeasuredCell:
    limits = [_OF_MARK.get(mark, Limit.OFFERED) for mark in goal.bounded_by or ()]
    return MeasuredCell(
        goal.cell,
        goal.uut_context,
        goal.platform,
        goal.blocks,
        {THROUGHPUT.name: goal.received_mbps or []},
        tuple(sorted({*goal.marks})),
        limits=_limits((THROUGHPUT,), main_limit(limits)),
    )


def _limits(metrics: Iterable[Metric], limit: Limit | None) -> dict[str, Limit]:
    return {metric.name: limit for metric in metrics if metric.is_bounded} if limit else {}


def _measured(cell: Cell, metrics: Sequence[Metric], by_block: bool) -> MeasuredCell:
    steps = {metric.name: cell.values(metric.step_column) for metric in metrics if metric.step_column}
    return MeasuredCell(
        cell.key,
        cell.uut_context,
        cell.platform,
        len(cell.blocks),
        {metric.name: cell.values(metric.column) for metric in metrics},
        tuple(cell.marks),
        {name: max(widths, default=0.0) for name, widths in steps.items()},
        _limits(metrics, main_limit(cell.limits.values())),
        {
            metric.name: late
            for metric in metrics
            if metric.late_column and (late := int(sum(cell.values(metric.late_column))))
        },
        {metric.name: cell.by_block(metric.column) for metric in metrics} if by_block else {},
    )
