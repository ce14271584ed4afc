"""A run of relays as rows of the result's tables."""

import statistics
from typing import Any

import numpy as np

from vtax.campaign.cpu_rows import counted_rows
from vtax.campaign.relay.trial import Ran
from vtax.campaign.round_trip_rows import time_columns
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import TrialRecord
from vtax.statistics import Distribution

DONE = "done"


def record(
    measured: Ran, judgement: Judgement, place: dict[str, Any], environment: dict[str, Any]
) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work = measured.work
    trial = {
        **trial_row(measured, judgement, place),
        "guests": 1 if work.is_in_one_guest else work.hops,
        "transport": work.transport if work.load == "network" else None,
        "placement": work.placement,
        "message_bytes": work.message_bytes,
        "interval_ms": work.interval_ms,
        "hops": work.hops,
        "iterations": work.iterations,
        "load": work.load,
        "connection": work.connection if work.load == "network" else None,
    }
    surroundings = [{"trial_id": measured.trial, **environment}]
    if measured.failure is not None:
        return TrialRecord(trial=trial, environment=surroundings)
    return TrialRecord(
        trial=trial,
        flows=[_flow(measured)],
        cpu=counted_rows(measured),
        samples=[
            {
                "run": measured.cell.run or 0,
                "iteration": iteration,
                "ns": ns,
                "status": measured.undone.get(iteration, DONE),
            }
            for iteration, ns in enumerate(measured.ns)
        ],
        environment=surroundings,
    )


def headline(measured: Ran) -> str:
    """A run's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    done_ns, failed = measured.done_ns, f"{len(measured.undone)} failed"
    if not done_ns:
        return f"no message came back, {failed}"
    mean_us, most_us = statistics.fmean(done_ns) / 1000, max(done_ns) / 1000
    return f"a round {mean_us:.2f} µs in the mean of {len(done_ns)}, at most {most_us:.0f} µs, {failed}"


def _flow(measured: Ran) -> dict[str, Any]:
    """The row of the rounds. Quantiles are over all that began: a failed one is later than every other."""
    done_ns = np.array(measured.done_ns, dtype=np.int64)
    values, counts = np.unique(done_ns, return_counts=True)
    made, failed = len(measured.ns), len(measured.undone)
    distribution = Distribution(values, counts, lost=failed)
    _, duration_s = measured.phases_s
    times = {
        "count": made - failed,
        "min_ns": done_ns.min() if len(done_ns) else None,
        "mean_ns": done_ns.mean() if len(done_ns) else None,
        "max_ns": done_ns.max() if len(done_ns) else None,
    }
    return {
        "trial_id": measured.trial,
        "role": "victim",
        "guest": 0,
        "stream": 0,
        "transactions": made - failed,
        "failed": failed,
        "loss_ratio": failed / made,
        "probes_sent": made,
        **time_columns(times, distribution),
        "latency_deviation_ns": distribution.deviation,
        "duration_s": duration_s,
    }
