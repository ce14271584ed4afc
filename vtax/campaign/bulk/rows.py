"""A trial of bulk streams as rows of the result's tables."""

from vtax.campaign.bulk.trial import Streamed
from vtax.campaign.cpu_rows import counted_rows, ledger_rows
from vtax.campaign.stream_rows import flow_rows, goodput_words, series_rows
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import Row, TrialRecord


def record(measured: Streamed, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work, complete = measured.work, measured.failure is None
    trial: Row = {
        **trial_row(measured, judgement, place),
        "start_spread_ms": measured.start_spread_ms if complete else None,
        "transport": work.transport,
        "direction": work.direction,
        "placement": work.placement,
        "message_bytes": work.message_bytes,
        "buffer_bytes": work.buffer_bytes,
    }
    if not complete:
        return TrialRecord(trial=trial)
    guests = list(enumerate(measured.flows))
    number, window_s = measured.trial, work.duration_s
    return TrialRecord(
        trial=trial,
        flows=[
            *(row for guest, flows in guests for row in flow_rows(number, "victim", guest, flows, window_s)),
            *measured.beside.flows,
        ],
        series=[row for guest, flows in guests for row in series_rows(number, "victim", guest, flows)],
        cpu=[*counted_rows(measured), *ledger_rows(measured, machine)],
    )


def headline(measured: Streamed) -> str:
    """A trial's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    return goodput_words(measured.flows)
