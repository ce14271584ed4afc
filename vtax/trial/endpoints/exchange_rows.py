"""The requests of a guest as a row of `flows`."""

from vtax.agent_api import Durations, RequesterCollectAnswer
from vtax.results import Row
from vtax.trial.round_trip_rows import distribution_of, time_columns
from vtax.trial.trial_rows import Role


def exchange_row(
    trial: int, role: Role, guest: int, tally: RequesterCollectAnswer, times: Durations, duration_s: float
) -> Row:
    """Of what the asking end counted; `times` are the response times among that.

    Quantiles are over all that were sent: a failed one is later than every other.
    """
    answered, failed = tally.transactions, tally.failed
    distribution = distribution_of(times, failed)
    return {
        "trial_id": trial,
        "role": role,
        "guest": guest,
        "stream": 0,
        "transactions": answered,
        "failed": failed,
        "loss_ratio": failed / (answered + failed) if answered + failed else None,
        "retransmissions": tally.retransmissions,
        "probes_sent": answered + failed,
        **time_columns(times, distribution),
        "latency_deviation_ns": distribution.deviation,
        "duration_s": duration_s,
    }
