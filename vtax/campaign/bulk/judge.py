"""Judges a trial of bulk streams."""

from collections.abc import Iterator

from vtax.campaign.bulk.trial import Streamed
from vtax.campaign.crosscheck import ledger_findings
from vtax.campaign.guest import guest_findings
from vtax.campaign.stream_findings import buffer_findings, start_findings, stream_findings
from vtax.campaign.streams import Flows
from vtax.campaign.surroundings import surroundings_findings, taken_findings
from vtax.campaign.verdict import Finding, Judgement, Verdict, judged
from vtax.machine.cpu import CpuSample, cpu_use

BUFFER_DROPS_SUSPECT = 0.001
"""Share of the datagrams that a far end's own socket had no room for: the instrument's loss, not the guest's."""


FAR_END_BUSY = "far-end-busy"
FAR_END_BUSY_PERCENT = 98.0
"""Use of the far ends' CPU from which on goodput may be what these can do, not what the guests can."""


def judge(measured: Streamed, *, emulated: bool) -> Judgement:
    """A trial's verdict and its mark."""
    marks = (FAR_END_BUSY,) if _far_ends_are_busy(measured) else ()
    return judged(measured.failure, _findings(measured, emulated), marks)


def _far_ends_are_busy(measured: Streamed) -> bool:
    """Whether bare far ends had no time left. A flood of datagrams takes all there is, whatever comes of it."""
    if measured.far_end_cpu is None or not measured.work.has_bare_peers or measured.work.transport == "udp":
        return False
    return cpu_use(*map(CpuSample.of, measured.far_end_cpu)).busy_percent >= FAR_END_BUSY_PERCENT


def _findings(measured: Streamed, emulated: bool) -> Iterator[Finding]:
    for guest, flows in enumerate(measured.flows):
        yield from stream_findings(guest, flows)
        yield from buffer_findings(guest, flows, measured.work.buffer_bytes)
        if measured.instrument_receives:
            yield from _far_end(guest, flows)
    if not emulated:
        yield from start_findings(measured.start_spread_ms, "guests")
    yield from surroundings_findings(measured)
    yield from taken_findings(measured, measured.far_cpus, "the far guest")
    yield from ledger_findings(measured)
    yield from guest_findings(measured)
    yield from measured.beside.findings


def _far_end(guest: int, flows: Flows) -> Iterator[Finding]:
    messages = sum(flow.messages for flow in flows.came.flows)
    dropped = flows.came.buffer_drops or 0
    if dropped > BUFFER_DROPS_SUSPECT * max(messages, 1):
        yield Verdict.SUSPECT, f"the far end of guest {guest} had no room for {dropped} datagrams"
