"""A trial of echoes as rows of the result's tables."""

from vtax.campaign.cpu_rows import counted_rows, ledger_rows
from vtax.campaign.echo.trial import Echoed
from vtax.campaign.round_trip_rows import distribution_of, histogram_row, time_columns
from vtax.campaign.stream_rows import flow_rows, goodput_words, series_rows
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import Row, TrialRecord

ASKED = 0
"""The guest that echoes go through."""


def record(measured: Echoed, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work, complete = measured.work, measured.failure is None
    trial: Row = {
        **trial_row(measured, judgement, place),
        "payload_bytes": work.payload_bytes,
        "interval_ms": work.interval_ms,
        "others": work.others,
        "start_spread_ms": measured.start_spread_ms if complete else None,
    }
    if not complete:
        return TrialRecord(trial=trial)
    _, tally = measured.echoes
    others, number, window_s = measured.others.items(), measured.trial, work.duration_s
    return TrialRecord(
        trial=trial,
        flows=[
            _asked(measured),
            *(row for guest, of in others for row in flow_rows(number, "neighbour", guest, of, window_s)),
        ],
        series=[row for guest, of in others for row in series_rows(number, "neighbour", guest, of)],
        cpu=[*counted_rows(measured), *ledger_rows(measured, machine)],
        latency=[histogram_row(number, tally.latency, tally.lost)],
    )


def headline(measured: Echoed) -> str:
    """A trial's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    _, tally = measured.echoes
    mean_ns = tally.latency.mean_ns
    mean = "no echo was answered" if mean_ns is None else f"mean round trip {mean_ns / 1e6:.3f} ms"
    beside = f"; beside it {goodput_words(list(measured.others.values()))}" if measured.others else ""
    return f"{mean}, lost {tally.lost} of {tally.sent}{beside}"


def _asked(measured: Echoed) -> Row:
    """The row of the echoes. Quantiles are over all that were sent: a lost one is later than every other."""
    _, tally = measured.echoes
    latency, lost, sent = tally.latency, tally.lost, tally.sent
    return {
        "trial_id": measured.trial,
        "role": "victim",
        "guest": ASKED,
        "stream": 0,
        "transactions": tally.received,
        "failed": lost,
        "loss_ratio": lost / sent if sent else None,
        "probes_sent": sent,
        **time_columns(latency, distribution_of(latency, lost)),
        "duration_s": measured.work.duration_s,
    }
