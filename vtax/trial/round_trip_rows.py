"""Round trips of echoes and requests as columns of `flows` and rows of `latency`."""

from dataclasses import replace

from vtax.agent_api import Durations
from vtax.results import Row
from vtax.statistics import Distribution
from vtax.trial.untenable import counted

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def distribution_of(times: Durations, lost: int) -> Distribution:
    """Of all that were sent: what was lost is later than every other."""
    return replace(counted(times.histogram, times.count), lost=lost)


def time_columns(times: Durations, distribution: Distribution) -> Row:
    """The columns of `flows` that both have."""
    return columns_of(distribution, times.count, times.min_ns, times.mean_ns, times.max_ns)


def columns_of(
    distribution: Distribution, count: int, min_ns: int | None, mean_ns: float | None, max_ns: int | None
) -> Row:
    """The same of times that were counted here."""
    return {
        "latency_count": count,
        "latency_min_ns": min_ns,
        "latency_mean_ns": mean_ns,
        **{f"latency_{name}_ns": distribution.quantile(q) for name, q in QUANTILES.items()},
        "latency_max_ns": max_ns,
    }


def histogram_row(
    trial: int, times: Durations, lost: int, *, stream: int = 0, corrected: bool = False
) -> Row:
    """The row of `latency`: of the one stream that there is, or of one of those that guests have."""
    return {
        "trial_id": trial,
        "stream": stream,
        "kind": "round-trip",
        "corrected": corrected,
        "lost": lost,
        "histogram": times.histogram,
    }
