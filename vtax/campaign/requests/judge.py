"""Judges a trial of requests."""

from collections.abc import Iterator

from vtax.campaign.crosscheck import ledger_findings
from vtax.campaign.guest import guest_findings
from vtax.campaign.requests.trial import Exchanged
from vtax.campaign.surroundings import surroundings_findings, taken_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged


def judge(measured: Exchanged) -> Judgement:
    """A trial's verdict. Requests that failed and answers that came late are results."""
    return judged(measured.failure, _findings(measured))


def _findings(measured: Exchanged) -> Iterator[Finding]:
    if any(run.aborted for run in measured.runs):
        yield Verdict.INVALID, "the requests were aborted"
    yield from surroundings_findings(measured)
    yield from taken_findings(measured, measured.far_cpus, "the client")
    yield from ledger_findings(measured)
    yield from guest_findings(measured)
    yield from measured.beside.findings
