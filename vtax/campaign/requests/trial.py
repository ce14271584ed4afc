"""One trial of requests: listen, ask through warm-up and window, collect; of several guests, all at once."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vtax.agent_api import Durations, RequesterCollectAnswer, RequesterGoAnswer
from vtax.campaign.closing import closing
from vtax.campaign.ends import EndsPath
from vtax.campaign.exchange import TIMEOUT_EMULATED_MS, TIMEOUT_MS, Exchange
from vtax.campaign.observe import begin_window, observe, watch_cpus
from vtax.campaign.observed import Observed
from vtax.campaign.tracing import tracing
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.scenario import Cell, Requests
from vtax.testbed.guest_state import GuestState


@dataclass
class Exchanged(Observed):
    """Everything one trial brought home."""

    runs: list[RequesterGoAnswer] = field(default_factory=list)
    """By the guest's number."""
    tallies: list[RequesterCollectAnswer] = field(default_factory=list)
    """Likewise."""
    far_cpus: Collection[int] = ()
    """Where who asks runs, if on CPUs of its own."""

    @property
    def work(self) -> Requests:
        """What was asked of it."""
        return self.cell.requests

    @property
    def mean_ns(self) -> float | None:
        """Of all requests that were answered."""
        times = [times_of(tally) for tally in self.tallies]
        count = sum(each.count for each in times)
        total_ns = sum(each.count * each.mean_ns for each in times if each.mean_ns is not None)
        return total_ns / count if count else None


def times_of(tally: RequesterCollectAnswer) -> Durations:
    """Response times: from when each request was due in an open loop, else from when it was sent."""
    return tally.latency if tally.corrected is None else tally.corrected


def measure(
    path: EndsPath, cell: Cell, trial: int, guests: dict[str, GuestState], *, emulated: bool
) -> Exchanged:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Exchanged(trial, cell, datetime.now(UTC))
    # A guest that asks cannot do so for the host's CPUs, as a bare peer's agent does by itself.
    with cpu_latency_held():
        observe(path, measured, guests, lambda: _run(path, measured, emulated), emulated=emulated)
    return measured


def _run(path: EndsPath, measured: Exchanged, emulated: bool) -> None:
    work = measured.work
    timeout_ms = TIMEOUT_EMULATED_MS if emulated else TIMEOUT_MS
    measured.far_cpus = path.far_cpus
    exchanges = [Exchange(asker, answerer, work, measured.trial, timeout_ms) for asker, answerer in path.ends]
    with (
        closing(*(exchange.close for exchange in exchanges)),
        tracing(*path.watcher, work, path.ways, "headers") as tracer,
    ):
        for exchange in exchanges:
            exchange.open()
        begin = time.monotonic()
        tracer.arm(work.warmup_s, work.duration_s)
        begin_window(path, work, begin)
        asked = [exchange.go() for exchange in exchanges]
        measured.cpu, measured.far_end_cpu = watch_cpus(path, work, begin)
        measured.runs = [finish() for finish in asked]
        measured.tallies = [exchange.collect() for exchange in exchanges]
        measured.traced = tracer.read()
        measured.sampled = path.cpu_meter.read()
