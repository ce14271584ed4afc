"""One trial of requests: listen, ask through warm-up and window, collect."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from vtax.campaign.ends import PairEndsPath
from vtax.campaign.exchange import TIMEOUT_EMULATED_MS, TIMEOUT_MS, Exchange
from vtax.campaign.observe import begin_window, observe, watch_cpus
from vtax.campaign.observed import Observed
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.scenario import Cell, Requests


@dataclass
class Exchanged(Observed):
    """Everything one trial brought home."""

    run: dict[str, Any] = field(default_factory=dict)
    """`requester.go`"""
    tally: dict[str, Any] = field(default_factory=dict)
    """`requester.collect`"""
    far_cpus: Collection[int] = ()
    """Where who asks runs, if on CPUs of its own."""

    @property
    def work(self) -> Requests:
        """What was asked of it."""
        return self.cell.requests

    @property
    def times(self) -> dict[str, Any]:
        """Response times: from when each request was due in an open loop, else from when it was sent."""
        which = "corrected" if self.work.loop == "open" else "latency"
        told: dict[str, Any] = self.tally[which]
        return told


def measure(
    path: PairEndsPath, cell: Cell, trial: int, guests: dict[str, dict[str, Any]], *, emulated: bool
) -> Exchanged:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Exchanged(trial, cell, datetime.now(UTC))
    # A guest that asks cannot do so for the host's CPUs, as a bare peer's agent does by itself.
    with cpu_latency_held():
        observe(path, measured, guests, lambda: _run(path, measured, emulated), emulated=emulated)
    return measured


def _run(path: PairEndsPath, measured: Exchanged, emulated: bool) -> None:
    work = measured.work
    ((asker, answerer),) = path.ends
    timeout_ms = TIMEOUT_EMULATED_MS if emulated else TIMEOUT_MS
    measured.far_cpus = path.far_cpus
    exchange = Exchange(asker, answerer, work, measured.trial, timeout_ms)
    try:
        exchange.open()
        begin = time.monotonic()
        begin_window(path, work, begin)
        asked = exchange.go()
        measured.cpu, measured.far_end_cpu = watch_cpus(path, work, begin)
        measured.run = asked()
        measured.tally = exchange.collect()
        measured.sampled = path.cpu_meter.read()
    finally:
        exchange.close()
