"""The requests of a guest as a row of `flows`."""

from dataclasses import replace
from typing import Any

from vtax.campaign.trial_rows import Role
from vtax.statistics.quantiles import decode

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def exchange_row(
    trial: int, role: Role, guest: int, tally: dict[str, Any], times: dict[str, Any], duration_s: float
) -> dict[str, Any]:
    """Of what `requester.collect` told; `times` are the response times among that.

    Quantiles are over all that were sent: a failed one is later than every other.
    """
    answered, failed = tally["transactions"], tally["failed"]
    distribution = replace(decode(times["histogram"]), lost=failed)
    return {
        "trial_id": trial,
        "role": role,
        "guest": guest,
        "stream": 0,
        "transactions": answered,
        "failed": failed,
        "loss_ratio": failed / (answered + failed) if answered + failed else None,
        "retransmissions": tally["retransmissions"],
        "probes_sent": answered + failed,
        "latency_count": times["count"],
        "latency_min_ns": times["min_ns"],
        "latency_mean_ns": times["mean_ns"],
        "latency_deviation_ns": distribution.deviation,
        **{f"latency_{name}_ns": distribution.quantile(q) for name, q in QUANTILES.items()},
        "latency_max_ns": times["max_ns"],
        "duration_s": duration_s,
    }
