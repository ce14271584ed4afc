"""What the ends of streams of data say against a trial."""

from collections.abc import Iterator, Sequence

from vtax.agent_api import ReceivedFlow, SentFlow
from vtax.trial.endpoints.streams import Flows
from vtax.trial.verdict import Finding, Verdict

START_SPREAD_SUSPECT_MS = 10.0
"""Guests that share the host's clock tick start closer together than this; emulated ones are only reported."""


def stream_findings(guest: int, flows: Flows) -> Iterator[Finding]:
    """Findings on the flows of one guest."""
    if flows.run.aborted:
        yield Verdict.INVALID, f"the sender of guest {guest} was aborted"
    for side, ends in _ends(flows):
        for flow in ends:
            if flow.problem:
                yield (
                    Verdict.INVALID,
                    f"flow {flow.flow} of guest {guest} broke off where it is {side}: {flow.problem}",
                )
    refused = flows.came.refused
    counts = {
        "flow": refused.flow,
        "foreign": refused.foreign,
        "surplus": refused.surplus,
        "trial": refused.trial,
    }
    for what, count in counts.items():
        if count:
            yield Verdict.SUSPECT, f"the receiver of guest {guest} refused {count} as {what}"
    if flows.came.ended == "limit":
        yield Verdict.SUSPECT, f"data of guest {guest} still came when the drain was over"


def buffer_findings(guest: int, flows: Flows, asked_bytes: int | None) -> Iterator[Finding]:
    """Sockets whose kernels gave them less than they asked for; what is not told is null in the rows."""
    sides = (
        *(("send", flow.flow, flow.send_buffer_bytes) for flow in flows.sent),
        *(("receive", flow.flow, flow.receive_buffer_bytes) for flow in flows.came.flows),
    )
    for side, number, held_bytes in sides:
        if asked_bytes is not None and held_bytes is not None and held_bytes < asked_bytes:
            yield (
                Verdict.INVALID,
                f"the {side} buffer of flow {number} of guest {guest} has {held_bytes} of the {asked_bytes} "
                "bytes requested",
            )


def _ends(flows: Flows) -> Iterator[tuple[str, Sequence[SentFlow | ReceivedFlow]]]:
    """What is known of the flows at either end of them."""
    yield "sent", flows.sent
    yield "received", flows.came.flows


def start_findings(spread_ms: float | None, who: str) -> Iterator[Finding]:
    """What did not start together."""
    if spread_ms is not None and spread_ms > START_SPREAD_SUSPECT_MS:
        yield Verdict.SUSPECT, f"{who} started {spread_ms:.0f} ms apart"
