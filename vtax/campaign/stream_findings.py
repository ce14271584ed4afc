"""What the ends of streams of data say against a trial."""

from collections.abc import Iterator

from vtax.campaign.streams import Flows
from vtax.campaign.verdict import Finding, Verdict

START_SPREAD_SUSPECT_MS = 10.0
"""Guests that share the host's clock tick start closer together than this; emulated ones are only reported."""
BUFFER_DROPS_SUSPECT = 0.001
"""Share of the datagrams that the receiver's own socket had no room for: the endpoint's loss, not the path's."""


def stream_findings(guest: int, flows: Flows) -> Iterator[Finding]:
    """Findings on the flows of one guest."""
    if flows.run["aborted"]:
        yield Verdict.INVALID, f"the sender of guest {guest} was aborted"
    for side, told in (("sent", flows.sent), ("received", flows.came["flows"])):
        for flow in told:
            if flow["problem"]:
                yield (
                    Verdict.INVALID,
                    f"flow {flow['flow']} of guest {guest} broke off where it is {side}: {flow['problem']}",
                )
    for what, count in flows.came["refused"].items():
        if count:
            yield Verdict.SUSPECT, f"the receiver of guest {guest} refused {count} as {what}"
    if flows.came["ended"] == "limit":
        yield Verdict.SUSPECT, f"data of guest {guest} still came when the drain was over"
    messages = sum(flow["messages"] for flow in flows.came["flows"])
    dropped = flows.came["buffer_drops"] or 0
    if dropped > BUFFER_DROPS_SUSPECT * max(messages, 1):
        yield (
            Verdict.SUSPECT,
            f"the receiver of guest {guest} had no room for {dropped} datagrams: "
            "its own loss, enlarge workload.buffer_bytes",
        )


def start_findings(spread_ms: float | None, who: str) -> Iterator[Finding]:
    """What did not start together."""
    if spread_ms is not None and spread_ms > START_SPREAD_SUSPECT_MS:
        yield Verdict.SUSPECT, f"{who} started {spread_ms:.0f} ms apart"
