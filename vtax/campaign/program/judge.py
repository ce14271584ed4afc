"""Judges a run of programs."""

from collections.abc import Iterator

from vtax.agent_api import ClientCollectAnswer, ProgramStatus
from vtax.campaign.guest import guest_findings
from vtax.campaign.program.trial import Timed
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged

Program = ClientCollectAnswer | ProgramStatus


def judge(measured: Timed) -> Judgement:
    """A run's verdict. Iterations that failed are results; a program that ended as it should not is none."""
    return judged(measured.failure, _findings(measured))


def _findings(measured: Timed) -> Iterator[Finding]:
    work, client, server = measured.work, measured.client, measured.server
    assert client is not None and server is not None  # noqa: S101 - a run that did not fail has both
    if server.ended is not None:
        yield Verdict.INVALID, f"the server {work.server[0]} ended: {_ending(server)}"
    elif not client.succeeded:
        yield Verdict.INVALID, f"the client {work.client[0]} ended: {_ending(client)}"
    elif not measured.ns:
        yield Verdict.INVALID, f"the client {work.client[0]} reported no iteration{_last_words(client)}"
    made = len(measured.ns) + client.excess
    if measured.ns and made != work.iterations:
        yield (
            Verdict.SUSPECT,
            f"the client reported {made} iterations instead of {work.iterations}",
        )
    if client.garbage:
        lines = f"{client.garbage}, the first: {client.first_garbage}"
        yield Verdict.VALID, f"output lines of the client that are no samples: {lines}"
    yield from surroundings_findings(measured)
    yield from guest_findings(measured)


def _ending(program: Program) -> str:
    """How a program ended, and the last that it said."""
    how = "; ".join(part for part in (program.stopped, program.ended) if part)
    return f"{how}{_last_words(program)}"


def _last_words(program: Program) -> str:
    said = " / ".join(line for line in program.said[-3:] if line)
    return f"; its last output: {said}" if said else ""
