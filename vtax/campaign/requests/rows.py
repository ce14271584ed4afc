"""A trial of requests as rows of the result's tables."""

from typing import Any

from vtax.campaign.cpu_rows import counted_rows, ledger_rows
from vtax.campaign.exchange_rows import exchange_row
from vtax.campaign.requests.trial import Exchanged
from vtax.campaign.round_trip_rows import histogram_row
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import TrialRecord


def record(
    measured: Exchanged, judgement: Judgement, place: dict[str, Any], environment: dict[str, Any]
) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work, complete = measured.work, measured.failure is None
    trial = {
        **trial_row(measured, judgement, place),
        "guests": 2 if work.placement == "intra-host" else 1,
        "transport": work.transport,
        "placement": work.placement,
        "message_bytes": work.message_bytes,
        "response_bytes": work.response_bytes,
        "loop": work.loop,
        "requests_per_s": work.requests_per_s if work.loop == "open" else None,
    }
    surroundings = [{"trial_id": measured.trial, **environment}]
    if not complete:
        return TrialRecord(trial=trial, environment=surroundings)
    histograms = {False: measured.tally["latency"], True: measured.tally["corrected"]}
    return TrialRecord(
        trial=trial,
        flows=[
            exchange_row(measured.trial, "victim", 0, measured.tally, measured.times, work.duration_s),
            *measured.beside.flows,
        ],
        cpu=[*counted_rows(measured), *ledger_rows(measured, environment)],
        latency=[
            histogram_row(measured.trial, times, measured.tally["failed"], corrected=corrected)
            for corrected, times in histograms.items()
            if times is not None
        ],
        environment=surroundings,
    )


def headline(measured: Exchanged) -> str:
    """A trial's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    tally = measured.tally
    failed = f"{tally['failed']} failed" + (f" ({tally['last_problem']})" if tally["failed"] else "")
    mean_ns = measured.times["mean_ns"]
    if mean_ns is None:
        return f"no request was answered, {failed}"
    return f"response time {mean_ns / 1e6:.3f} ms in the mean of {tally['transactions']}, {failed}"
