"""Judges a trial of echoes."""

from collections.abc import Iterator

from vtax.campaign.crosscheck import ledger_findings
from vtax.campaign.echo.trial import Echoed
from vtax.campaign.guest import guest_findings
from vtax.campaign.stream_findings import start_findings, stream_findings
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged


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
    yield from measured.beside.findings


def _asker(measured: Echoed) -> Iterator[Finding]:
    run, tally = measured.echoes
    if run.aborted:
        yield Verdict.INVALID, "the echoes were aborted"
    if tally.last_problem:
        yield (
            Verdict.SUSPECT,
            f"the sender's kernel refused echoes, which count as lost: {tally.last_problem}",
        )
