"""A number that every trial of a kind of workload has, declared once: where it is recorded and how it is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from vtax.model.numbers import Format
from vtax.results.schema.hosts import SINK, SinkTime
from vtax.statistics.quantiles import BUCKETS_AN_OCTAVE
from vtax.statistics.resolution import PER_MILLE, Resolution

BUCKET = 1 / BUCKETS_AN_OCTAVE
"""The width of a histogram's bucket, as a share of its values."""
ONE_IN_A_THOUSAND = PER_MILLE.share
"""One frame or request of the thousand that a short trial has, or a nanosecond of a microsecond."""


class Better(StrEnum):
    """Which way a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Relation:
    """Rows of a result, some for each trial: a table in SQL, and which of its rows count."""

    name: str
    rows: str
    is_required: bool = False
    """Whether a trial without such rows has no metric at all."""


VICTIM = Relation(
    "victim",
    "(SELECT *, coalesce(clock_error_ns, 0) = 0 AS exact FROM flows) WHERE role = 'victim'",
    is_required=True,
)
"""The measured flows; `exact` where source and sink read one clock."""
NEIGHBOURS = Relation("neighbours", "flows WHERE role = 'neighbour'")
SINK_CPU = Relation("sink_cpu", f"cpu WHERE domain = '{SINK}' AND component = '{SinkTime.IN_HOST_TOTAL}'")
"""The part of the busy time of the CPUs of host and guests that is the sink's."""
HOST_CPU = Relation(
    "host_cpu",
    f"""(
    SELECT trial_id, greatest(counted.percent - coalesce(sink.percent, 0), 0) AS percent, high - counted.percent AS step
    FROM cpu AS counted
    LEFT JOIN (SELECT trial_id, sum(percent) AS percent FROM {SINK_CPU.rows} GROUP BY trial_id) AS sink USING (trial_id)
    WHERE domain = 'host' AND component = 'total' AND samples IS NULL
)""",  # noqa: S608, made of constants
)
"""The busy time of the CPUs of host and guests, as the kernel counts it, without the sink's part."""


@dataclass(frozen=True)
class Metric:
    """A number of a trial, `sql` over its rows of `relation`.

    Where it `is_bounded`, something other than the platform may have kept it from more. Changes of it are relative, in
    percent, or where `points` of the values themselves, which are ratios, in percentage points; those have a tolerance
    of their own. Of what `is_total`, as the losses of all frames or the CPU time of all accounts, the mean is kept
    though trials stand apart: it is what parts add up to. `resolution` is the width of the steps that values come in,
    as a share of them, and where `points` in their unit; where each trial records that width in the metric's unit,
    `step_sql` is its sum. Of a `quantile`, a
    repetition without one may have lost what it would be of: without that repetition the others would look too good.
    Not so where `late_sql` holds: there the source was as late as frames took, and what is missing says nothing of the
    platform.
    """

    name: str
    column: str
    sql: str
    unit: str
    better: Better
    form: Format
    relation: Relation = VICTIM
    is_bounded: bool = False
    points: bool = False
    is_total: bool = False
    tolerance: float | None = None
    resolution: float = 0.0
    step_sql: str | None = None
    quantile: bool = False
    late_sql: str | None = None

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")

    @property
    def rises(self) -> bool:
        """Whether more of it is better."""
        return self.better is Better.HIGHER

    @property
    def step_column(self) -> str | None:
        """The name of the recorded step in a query; None where the resolution is a share."""
        return f"{self.column}_step" if self.step_sql else None

    def resolution_of(self, steps: Iterable[float]) -> Resolution:
        """Return that of values whose trials recorded these steps; none where the metric has none, or they are lost."""
        if step := max(steps, default=0.0):
            return Resolution(step=step)
        return Resolution(step=self.resolution) if self.points else Resolution(share=self.resolution)

    @property
    def late_column(self) -> str | None:
        """The name of what `late_sql` says of a block in a query: 1 or 0."""
        return f"{self.column}_late" if self.late_sql else None
