"""Bare far ends of streams: they belong to the instrument, so what they cannot do is not the guests' doing."""

from collections.abc import Iterator

from vtax.machine.cpu import CpuSample, cpu_use
from vtax.testbed.cpu_time import CpuCounters
from vtax.trial.endpoints.streams import Flows
from vtax.trial.observed import Twice
from vtax.trial.verdict import Finding, Verdict

BUFFER_DROPS_SUSPECT = 0.001
"""Share of the datagrams that a far end's own socket had no room for: the instrument's loss, not the guest's."""
FAR_END_BUSY = "far-end-busy"
FAR_END_BUSY_PERCENT = 98.0
"""Use of the far ends' CPU from which on goodput may be what these can do, not what the guests can."""


def is_busy(far_end_cpu: Twice[CpuCounters] | None) -> bool:
    """Return whether far ends had no time left on their CPU; not where that was not counted."""
    if far_end_cpu is None:
        return False
    return cpu_use(*map(CpuSample.of, far_end_cpu)).busy_percent >= FAR_END_BUSY_PERCENT


def far_end_findings(guest: int, flows: Flows) -> Iterator[Finding]:
    """Yield what the far end of a guest that sends had no room for."""
    messages = sum(flow.messages for flow in flows.came.flows)
    dropped = flows.came.buffer_drops or 0
    if dropped > BUFFER_DROPS_SUSPECT * max(messages, 1):
        yield Verdict.SUSPECT, f"the far end of guest {guest} had no room for {dropped} datagrams"
