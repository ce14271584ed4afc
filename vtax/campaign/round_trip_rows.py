"""Round trips of echoes and requests as columns of `flows` and rows of `latency`."""

from dataclasses import replace
from typing import Any

from vtax.statistics import Distribution, decode

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def distribution_of(times: dict[str, Any], lost: int) -> Distribution:
    """Of all that were sent: what was lost is later than every other. `times` as the agent's histograms tell them."""
    return replace(decode(times["histogram"]), lost=lost)


def time_columns(times: dict[str, Any], distribution: Distribution) -> dict[str, Any]:
    """The columns of `flows` that both have."""
    return {
        "latency_count": times["count"],
        "latency_min_ns": times["min_ns"],
        "latency_mean_ns": times["mean_ns"],
        **{f"latency_{name}_ns": distribution.quantile(q) for name, q in QUANTILES.items()},
        "latency_max_ns": times["max_ns"],
    }


def histogram_row(
    trial: int, times: dict[str, Any], lost: int, *, stream: int = 0, corrected: bool = False
) -> dict[str, Any]:
    """The row of `latency`: of the one stream that there is, or of one of those that guests have."""
    return {
        "trial_id": trial,
        "stream": stream,
        "kind": "round-trip",
        "corrected": corrected,
        "lost": lost,
        "histogram": times["histogram"],
    }
