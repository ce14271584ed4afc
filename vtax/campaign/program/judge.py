"""Judges a run of programs."""

from collections.abc import Iterator
from typing import Any

from vtax.campaign.guest import guest_findings
from vtax.campaign.program.trial import Timed
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged


def judge(measured: Timed) -> Judgement:
    """A run's verdict. Iterations that failed are results; a program that ended as it should not is none."""
    return judged(measured.failure, _findings(measured))


def _findings(measured: Timed) -> Iterator[Finding]:
    work, client, server = measured.work, measured.client, measured.server
    if server["ended"] is not None:
        yield Verdict.INVALID, f"the server {work.server[0]} ended: {_ending(server)}"
    elif not client["succeeded"]:
        yield Verdict.INVALID, f"the client {work.client[0]} ended: {_ending(client)}"
    elif not measured.ns:
        yield Verdict.INVALID, f"the client {work.client[0]} reported no iteration{_last_words(client)}"
    made = len(measured.ns) + client["excess"]
    if measured.ns and made != work.iterations:
        yield (
            Verdict.SUSPECT,
            f"the client reported {made} iterations instead of {work.iterations}",
        )
    if client["garbage"]:
        told = f"{client['garbage']}, the first: {client['first_garbage']}"
        yield Verdict.VALID, f"output lines of the client that are no samples: {told}"
    yield from surroundings_findings(measured)
    yield from guest_findings(measured)


def _ending(told: dict[str, Any]) -> str:
    """How a program ended, and the last that it said."""
    how = "; ".join(part for part in (told["stopped"], told["ended"]) if part)
    return f"{how}{_last_words(told)}"


def _last_words(told: dict[str, Any]) -> str:
    said = " / ".join(line for line in told["said"][-3:] if line)
    return f"; its last output: {said}" if said else ""
