"""Judges a trial of echoes."""

from collections.abc import Iterator

from vtax.campaign.crosscheck import ledger_findings
from vtax.campaign.echo.trial import Echoed
from vtax.campaign.guest import guest_findings
from vtax.campaign.stream_findings import start_findings, stream_findings
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged

OWN_WAIT_SUSPECT = 0.1
"""Share of the mean round trip that whoever asks may have waited for its own CPU."""


def judge(measured: Echoed) -> Judgement:
    """A trial's verdict. Lost, late and double answers are results."""
    return judged(measured.failure, _findings(measured))


def _findings(measured: Echoed) -> Iterator[Finding]:
    yield from _asker(measured)
    for guest, flows in measured.others.items():
        yield from stream_findings(guest, flows)
    yield from start_findings(measured.start_spread_ms, "echoes and streams")
    yield from surroundings_findings(measured)
    yield from ledger_findings(measured)
    yield from guest_findings(measured)


def _asker(measured: Echoed) -> Iterator[Finding]:
    run, tally = measured.run, measured.tally
    if run["aborted"]:
        yield Verdict.INVALID, "the echoes were aborted"
    if tally["last_problem"]:
        yield (
            Verdict.SUSPECT,
            f"the asking kernel refused echoes, which count as lost: {tally['last_problem']}",
        )
    share = own_wait_share(measured)
    if share is not None and share > OWN_WAIT_SUSPECT:
        yield (
            Verdict.SUSPECT,
            f"the asking agent waited for its own CPU, up to {100 * share:.0f}% of the mean round trip",
        )


def own_wait_share(measured: Echoed) -> float | None:
    """What the asking thread waited for its CPU, for each echo, against the mean round trip: at most that is its own.

    None where the kernel does not account for it, or nothing was answered.
    """
    thread, latency = measured.run["thread"], measured.tally["latency"]
    if thread is None or not latency["count"]:
        return None
    work = measured.work
    echoes = measured.tally["sent"] * (work.warmup_s + work.duration_s) / work.duration_s
    return float(thread["run_delay_ns"] / echoes / latency["mean_ns"])
