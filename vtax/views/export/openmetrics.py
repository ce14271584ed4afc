"""A result's cells in the text format of OpenMetrics 1.0, in its base units."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from math import isfinite

from vtax.model.bound import Bound
from vtax.model.estimate import repeated_estimate
from vtax.model.metric import Metric
from vtax.results import Result
from vtax.statistics import repeated_mean
from vtax.views.metrics import METRICS, MeasuredCell, metrics_of, read_measured
from vtax.views.served import Served

OPENMETRICS = Served(
    "OpenMetrics export", METRICS, instead="use --format json, or --format csv --out DIRECTORY"
)

UNITS = {
    "Mbit/s": ("bits_per_second", 1e6),
    "1/s": ("per_second", 1.0),
    "%": ("ratio", 1.0),
    "µs": ("seconds", 1e-9),
    "% CPU": ("ratio", 0.01),
}
"""OpenMetrics' unit of a metric, and what a value of the data set is multiplied by for it."""


def openmetrics(result: Result) -> Iterator[str]:
    """Lines: for each cell and metric its mean, and its 95% interval where it has one, told apart by `bound`.

    It is the mean though trials stand apart, so that a series has one name.

    A quantile that a repetition may have lost is none of the cell.

    A mean that something other than the platform bounded has "at least" for "mean", and no upper end.
    The samples have the time at which the campaign ended, or began where it did not.
    """
    repeated = repeated_mean(adaptive=result.is_adaptive)
    measured = read_measured(result)
    time = _seconds(result.stored.get("finished_at") or result.stored.get("created_at"))
    for metric in metrics_of(result):
        unit, factor = UNITS[metric.unit]
        name = f"vtax_{metric.name}_{unit}"
        yield f"# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {_help(metric)}\n"
        for cell in measured.values():
            if not (values := cell.values_of(metric)) or cell.lacks(metric):
                continue
            interval = repeated_estimate(values, 0.0, cell.resolution(metric), repeated).read_as(
                cell.bound(metric)
            )
            labels = _labels(str(result.scenario.get("name") or "unknown"), cell)
            read = "mean" if interval.bound is Bound.EXACT else str(interval.bound)
            for bound, value in ((read, interval.value), ("low", interval.low), ("high", interval.high)):
                if value is not None and isfinite(value):
                    yield f'{name}{{{labels},bound="{bound}"}} {value * factor!r}{time}\n'
    yield "# EOF\n"


def _help(metric: Metric) -> str:
    lower = ", or at least" if metric.is_bounded else ""
    return f"{metric.name} of a cell: mean over repetitions{lower}, and bounds of its 95% interval."


def _labels(scenario: str, cell: MeasuredCell) -> str:
    labels = {"scenario": scenario, "cell": cell.cell, "uut_context": cell.uut_context}
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _seconds(moment: object) -> str:
    try:
        return f" {datetime.fromisoformat(str(moment)).timestamp():.3f}"
    except ValueError:
        return ""
