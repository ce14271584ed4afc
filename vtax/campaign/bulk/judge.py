"""Judges a trial of bulk streams."""

from collections.abc import Iterator

from vtax.campaign.bulk.trial import Streamed
from vtax.campaign.crosscheck import ledger_findings
from vtax.campaign.guest import guest_findings
from vtax.campaign.surroundings import surroundings_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict

START_SPREAD_SUSPECT_MS = 10.0
"""Guests that share the host's clock tick start closer together than this; emulated ones are only reported."""
BUFFER_DROPS_SUSPECT = 0.001
"""Share of the datagrams that a peer's own socket had no room for: the instrument's loss, not the guest's."""


def judge(measured: Streamed, *, emulated: bool) -> Judgement:
    """A trial's verdict. The context column is for frames: an end host's work is its own."""
    if measured.failure is not None:
        return Judgement(Verdict.INVALID, (f"instrument failed: {measured.failure}",), (), None)
    findings = sorted(
        [
            *_ends(measured),
            *_start(measured, emulated),
            *surroundings_findings(measured),
            *ledger_findings(measured),
            *guest_findings(measured),
        ],
        key=lambda finding: -list(Verdict).index(finding[0]),
    )
    verdict = findings[0][0] if findings else Verdict.VALID
    return Judgement(verdict, tuple(text for _, text in findings), (), None)


def _ends(measured: Streamed) -> Iterator[Finding]:
    for number, flows in enumerate(measured.flows):
        if flows.run["aborted"]:
            yield Verdict.INVALID, f"the sender of guest {number} was aborted"
        for side, told in (("sent", flows.sent), ("received", flows.came["flows"])):
            for flow in told:
                if flow["problem"]:
                    yield (
                        Verdict.INVALID,
                        f"flow {flow['flow']} of guest {number} broke off where it is {side}: {flow['problem']}",
                    )
        for what, count in flows.came["refused"].items():
            if count:
                yield Verdict.SUSPECT, f"the receiver of guest {number} refused {count} as {what}"
        if flows.came["ended"] == "limit":
            yield Verdict.SUSPECT, f"data of guest {number} still came when the drain was over"
        messages = sum(flow["messages"] for flow in flows.came["flows"])
        dropped = flows.came["buffer_drops"] or 0
        if measured.work.direction == "sending" and dropped > BUFFER_DROPS_SUSPECT * max(messages, 1):
            yield Verdict.SUSPECT, f"the peer of guest {number} had no room for {dropped} datagrams"


def _start(measured: Streamed, emulated: bool) -> Iterator[Finding]:
    spread_ms = measured.start_spread_ms
    if spread_ms is not None and spread_ms > START_SPREAD_SUSPECT_MS and not emulated:
        yield Verdict.SUSPECT, f"guests started {spread_ms:.0f} ms apart"
