"""A trial of requests as rows of the result's tables."""

from collections.abc import Iterator

from vtax.agent_api import RequesterCollectAnswer
from vtax.campaign.cpu_rows import counted_rows, ledger_rows
from vtax.campaign.exchange_rows import exchange_row
from vtax.campaign.requests.trial import Exchanged, times_of
from vtax.campaign.round_trip_rows import histogram_row
from vtax.campaign.stage_rows import packet_rows, stage_rows, unattributed_row
from vtax.campaign.trails import Way
from vtax.campaign.trial_rows import trial_row
from vtax.campaign.verdict import Judgement
from vtax.results import Row, TrialRecord

HEADERS_BYTES = 80
"""Of IPv4 with TCP and its timestamps, or SCTP, and a little more."""


def record(measured: Exchanged, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work, complete = measured.work, measured.failure is None
    trial: Row = {
        **trial_row(measured, judgement, place),
        "transport": work.transport,
        "placement": work.placement,
        "message_bytes": work.message_bytes,
        "response_bytes": work.response_bytes,
        "loop": work.loop,
        "requests_per_s": work.requests_per_s if work.loop == "open" else None,
    }
    if not complete:
        return TrialRecord(trial=trial)
    numbered = list(enumerate(measured.tallies))
    return TrialRecord(
        trial=trial,
        flows=[*(_flow(measured, guest, tally) for guest, tally in numbered), *measured.beside.flows],
        cpu=[*counted_rows(measured), *ledger_rows(measured, machine)],
        latency=[row for guest, tally in numbered for row in _histograms(measured.trial, guest, tally)],
        stages=[*stage_rows(measured), *_unattributed(measured)],
        packets=packet_rows(measured),
    )


def headline(measured: Exchanged) -> str:
    """A trial's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    tallies = measured.tallies
    problems = "; ".join(
        dict.fromkeys(tally.last_problem for tally in tallies if tally.failed and tally.last_problem)
    )
    failed = f"{sum(tally.failed for tally in tallies)} failed" + (f" ({problems})" if problems else "")
    if measured.mean_ns is None:
        return f"no request was answered, {failed}"
    answered = sum(tally.transactions for tally in tallies)
    return f"mean response time {measured.mean_ns / 1e6:.3f} ms (n = {answered}), {failed}"


def _flow(measured: Exchanged, guest: int, tally: RequesterCollectAnswer) -> Row:
    """The row of a guest's requests."""
    duration_s = measured.work.duration_s
    return exchange_row(measured.trial, "victim", guest, tally, times_of(tally), duration_s)


def _histograms(trial: int, guest: int, tally: RequesterCollectAnswer) -> Iterator[Row]:
    """A guest's times; its number stands for a stream's, of which each guest has one."""
    for corrected, times in {False: tally.latency, True: tally.corrected}.items():
        if times is not None:
            yield histogram_row(trial, times, tally.failed, stream=guest, corrected=corrected)


def _unattributed(measured: Exchanged) -> list[Row]:
    """What of the response time is in no stage: guests, links, whoever asks. Of requests of one packet each way."""
    work, most = measured.work, measured.cell.testbed.mtu - HEADERS_BYTES
    if measured.mean_ns is None or max(work.message_bytes, work.answer_bytes) > most:
        return []
    return unattributed_row(measured, measured.mean_ns, _leg)


def _leg(way: Way) -> tuple[str, str]:
    """A response time has each host's two directions once, or the two ways between guests of one host."""
    trail = way.trail
    return way.host, trail.name if trail.direction == "through" else trail.direction
