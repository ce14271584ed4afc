"""What campaigns are compared in: for each kind of workload its metrics, with the values of every repetition."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from vtax.results import Result
from vtax.statistics.quantiles import BUCKETS_AN_OCTAVE
from vtax.views import numbers
from vtax.views.bound import Bound, Limit
from vtax.views.cell_limits import cell_limits
from vtax.views.cells import CARRIED_IN_FULL_LOSS_RATIO, USABLE
from vtax.views.provenance import BULK, ECHO, FORWARDING, REQUESTS, workload_kind
from vtax.views.series import series

BUCKET = 1 / BUCKETS_AN_OCTAVE
FRAME = 1e-3
"""One frame or request of a thousand, which a short trial has: the step of what is counted."""
NANOSECOND = 1e-3
"""A nanosecond of the microsecond that the shortest answer takes: the step of a mean time."""


@dataclass(frozen=True)
class Metric:
    """A number of a trial; `column` is named as that of `flows` where there is one, with the unit at its end.

    `rises` tells that more of it is better. Changes are relative, in percent, or where `points` of the values
    themselves, which are ratios, in percentage points; those have a tolerance of their own. `resolution` is the
    width of the steps that values come in, as a share of them; where each trial records that width in the metric's
    unit, `step_column` names the column. Of a `quantile`, a repetition without one may have lost what it would be of:
    without that repetition the others would look too good.
    """

    name: str
    column: str
    unit: str
    rises: bool
    form: Callable[[float], str]
    points: bool = False
    tolerance: float | None = None
    resolution: float = 0.0
    step_column: str | None = None
    quantile: bool = False


THROUGHPUT = Metric("throughput", "received_mbps", "Mbit/s", True, numbers.mbps, resolution=FRAME)
GOODPUT = Metric("goodput", "goodput_mbps", "Mbit/s", True, numbers.mbps, resolution=FRAME)
TRANSACTIONS = Metric("transactions", "transactions_per_s", "1/s", True, numbers.whole, resolution=FRAME)
LOSS = Metric(
    "loss",
    "loss_ratio",
    "%",
    False,
    numbers.ratio_as_percent,
    points=True,
    tolerance=CARRIED_IN_FULL_LOSS_RATIO,
    resolution=FRAME,
)
LATENCY_P50 = Metric(
    "latency_p50", "latency_p50_ns", "µs", False, numbers.microseconds, resolution=BUCKET, quantile=True
)
LATENCY_P99 = Metric(
    "latency_p99", "latency_p99_ns", "µs", False, numbers.microseconds, resolution=BUCKET, quantile=True
)
RESPONSE_TIME = Metric(
    "response_time", "latency_mean_ns", "µs", False, numbers.microseconds, resolution=NANOSECOND
)
CPU = Metric("cpu", "host_percent", "% CPU", False, numbers.percent, step_column="host_step_percent")

METRICS = {
    FORWARDING: (THROUGHPUT, LOSS, LATENCY_P50, LATENCY_P99, CPU),
    BULK: (GOODPUT, LOSS, CPU),
    ECHO: (RESPONSE_TIME, LOSS),
    REQUESTS: (RESPONSE_TIME, LATENCY_P50, LATENCY_P99, TRANSACTIONS, LOSS, CPU),
}
"""By kind of workload."""

BOUNDED = (THROUGHPUT, GOODPUT)
"""What something other than the platform may bound."""
ALL = tuple(dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics))

# A quantile of several streams is their geometric mean; one that some stream does not have is none of the trial. One by
# clocks that differ is none to compare by: what they are wrong by is another each time.
OF_TRIAL = """
flow AS (
    SELECT trial_id, sum(received_mbps) AS received_mbps, sum(goodput_mbps) AS goodput_mbps,
           coalesce(sum(frames_lost) / nullif(sum(frames_sent), 0), avg(loss_ratio)) AS loss_ratio,
           avg(latency_mean_ns) AS latency_mean_ns,
           avg(transactions / duration_s) AS transactions_per_s,
           CASE WHEN count(latency_p50_ns) FILTER (exact) = count(*)
                THEN exp(avg(ln(latency_p50_ns))) END AS latency_p50_ns,
           CASE WHEN count(latency_p99_ns) FILTER (exact) = count(*)
                THEN exp(avg(ln(latency_p99_ns))) END AS latency_p99_ns
    FROM (SELECT *, coalesce(clock_error_ns, 0) = 0 AS exact FROM flows) WHERE role = 'victim' GROUP BY trial_id
), host AS (
    SELECT trial_id, sum(percent) AS host_percent, sum(high - percent) AS host_step_percent FROM cpu
    WHERE domain = 'host' AND component = 'total' AND samples IS NULL GROUP BY trial_id
)
"""
"""Every metric's column of each trial, in two tables."""

_BLOCKS = f"""
WITH {USABLE}, {OF_TRIAL}, blocks AS (
    SELECT cell, platform, uut_context, block, {{means}}
    FROM usable JOIN flow USING (trial_id) LEFT JOIN host USING (trial_id) GROUP BY ALL
)
SELECT cell, platform, uut_context, count(*) AS blocks, {{lists}} FROM blocks GROUP BY ALL ORDER BY cell, uut_context
"""  # noqa: S608, made of constants

# Of a search the loads are chosen by what they lost: its trials are no repetitions of anything, what it found is.
_SEARCHED = f"""
WITH {USABLE}
SELECT searches.search || ' goal=' || goal AS cell, platform, uut_context, count(*) AS blocks,
       list(conditional_mbps ORDER BY block) AS received_mbps
FROM searches JOIN usable USING (trial_id) GROUP BY ALL ORDER BY cell, uut_context
"""  # noqa: S608, made of constants

_MARKED = f"""
WITH {USABLE}
SELECT DISTINCT cell, uut_context, mark FROM (SELECT cell, uut_context, unnest(marks) AS mark FROM usable) ORDER BY ALL
"""  # noqa: S608, made of constants

_RECORDED = "SELECT DISTINCT cell FROM untraced"
_SEARCHES_RECORDED = (
    "SELECT DISTINCT search || ' goal=' || goal AS cell FROM searches JOIN untraced USING (trial_id)"
)


class _Mark(Struct, frozen=True):
    """A mark that a trial of a cell has."""

    cell: str
    uut_context: str
    mark: str


Key = tuple[str, str]
"""A cell and the context in which it forwarded."""


@dataclass(frozen=True)
class Measured:
    """A cell's values of each metric by name, one a repetition that has it; `blocks` counts the usable ones.

    `steps` are the widths of the steps that values come in, in the metric's unit, of metrics that record them.
    `limit` is what bounded the throughput or goodput in the platform's stead: of it there is only a lower bound.
    """

    cell: str
    uut_context: str
    platform: str
    blocks: int
    values: Mapping[str, Sequence[float]]
    marks: tuple[str, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    limit: Limit | None = None

    def limit_of(self, metric: Metric) -> Limit | None:
        """What bounded a metric; None where its values are the platform's own."""
        return self.limit if metric in BOUNDED else None

    def bound(self, metric: Metric) -> Bound:
        """How a metric's mean is read."""
        return Bound.of([self.limit_of(metric)])


def metrics_of(result: Result) -> tuple[Metric, ...]:
    """What its campaign measured; only what searches found where they chose the loads.

    KeyError where its kind of workload has no metrics.
    """
    if _searched(result):
        return (THROUGHPUT,)
    return METRICS[workload_kind(result)]


def read_measured(result: Result) -> dict[Key, Measured]:
    """Every cell with a usable trial; repetitions without a value are left out of its lists."""
    metrics = metrics_of(result)
    steps = {} if _searched(result) else {m.name: m.step_column for m in metrics if m.step_column}
    if _searched(result):
        rows = result.query(_SEARCHED)
    else:
        names = [metric.column for metric in metrics]
        means = [f"avg({name}) AS {name}" for name in (*names, *steps.values())]
        lists = [f"list({name} ORDER BY block) AS {name}" for name in names]
        widest = [f"max({name}) AS {name}" for name in steps.values()]
        rows = result.query(_BLOCKS.format(means=", ".join(means), lists=", ".join([*lists, *widest])))
    marks: dict[Key, list[str]] = {}
    for row in result.read(_MARKED, _Mark):
        marks.setdefault((row.cell, row.uut_context), []).append(row.mark)
    limits = cell_limits(result)
    values = {metric.name: [_known(each) for each in series(rows[metric.column])] for metric in metrics}
    widths = {name: rows[column].to_pylist() for name, column in steps.items()}
    return {
        (cell, context): Measured(
            cell,
            context,
            platform,
            blocks,
            {name: each[place] for name, each in values.items()},
            tuple(marks.get((cell, context), ())),
            {name: each[place] or 0.0 for name, each in widths.items()},
            limits.get((cell, context)),
        )
        for place, (cell, context, platform, blocks) in enumerate(
            zip(
                *(rows[name].to_pylist() for name in ("cell", "uut_context", "platform", "blocks")),
                strict=True,
            )
        )
    }


def recorded_names(result: Result) -> frozenset[str]:
    """Return the name of every cell that has a recorded trial, usable or not, as `read_measured` names cells."""
    rows = result.query(_SEARCHES_RECORDED if _searched(result) else _RECORDED)
    return frozenset(rows["cell"].to_pylist())


def _searched(result: Result) -> bool:
    return bool(result.scenario.get("search"))


def _known(values: Sequence[float | None]) -> Sequence[float]:
    return values if isinstance(values, array) else tuple(value for value in values if value is not None)
