"""A run of relays as rows of the result's tables."""

from vtax.campaign.cpu_rows import counted_rows
from vtax.campaign.relay.trial import Ran
from vtax.campaign.timed_run import run_flow, run_headline, sample_rows
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import Row, TrialRecord


def record(measured: Ran, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work = measured.work
    trial: Row = {
        **trial_row(measured, judgement, place),
        "transport": work.transport if work.load == "network" else None,
        "placement": work.placement,
        "message_bytes": work.message_bytes,
        "interval_ms": work.interval_ms,
        "hops": work.hops,
        "iterations": work.iterations,
        "load": work.load,
        "connection": work.connection if work.load == "network" else None,
    }
    if measured.failure is not None:
        return TrialRecord(trial=trial)
    return TrialRecord(
        trial=trial,
        flows=[run_flow(measured)],
        cpu=counted_rows(measured),
        samples=list(sample_rows(measured)),
    )


def headline(measured: Ran) -> str:
    """A run's last number for whoever watches."""
    return run_headline(measured, "a round", "no message came back")
