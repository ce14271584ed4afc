"""Judges a run of relays."""

from collections.abc import Iterator

from vtax.campaign.guest import guest_findings
from vtax.campaign.relay.trial import Ran
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged


def judge(measured: Ran) -> Judgement:
    """A run's verdict. Messages that were lost are results; a relay that died is none."""
    return judged(measured.failure, _findings(measured))


def _findings(measured: Ran) -> Iterator[Finding]:
    for guest, relays in enumerate(measured.relays):
        for how in relays.ended:
            yield Verdict.INVALID, f"of guest {guest}: {how}"
    yield from _output(measured)
    if measured.given_up:
        last = measured.relays[0].last_problem
        made, asked = len(measured.ns), measured.work.iterations
        yield (
            Verdict.SUSPECT,
            f"the run was given up after {made} of {asked} rounds, since ten in a row failed ({last})",
        )
    yield from surroundings_findings(measured)
    yield from guest_findings(measured)


def _output(measured: Ran) -> Iterator[Finding]:
    if measured.output_bytes is None:
        return
    written = len(measured.ns) * measured.work.message_bytes
    if measured.output_bytes != written:
        yield (
            Verdict.INVALID,
            f"{measured.output_bytes} of {written} bytes came through the master's standard output",
        )
