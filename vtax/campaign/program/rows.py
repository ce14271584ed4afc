"""A run of programs as rows of the result's tables."""

from pathlib import PurePath

from vtax.campaign.cpu_rows import counted_rows
from vtax.campaign.program.trial import Timed
from vtax.campaign.timed_run import run_flow, run_headline, sample_rows
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import Row, TrialRecord


def record(measured: Timed, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work = measured.work
    trial: Row = {
        **trial_row(measured, judgement, place),
        "placement": work.placement,
        "iterations": work.iterations,
        "load": "program",
        "server": PurePath(work.server[0]).name,
    }
    if measured.failure is not None:
        return TrialRecord(trial=trial)
    return TrialRecord(
        trial=trial,
        flows=[run_flow(measured)],
        cpu=counted_rows(measured),
        samples=list(sample_rows(measured)),
    )


def headline(measured: Timed) -> str:
    """A run's last number for whoever watches."""
    return run_headline(measured, "an iteration", "no iteration was timed")
