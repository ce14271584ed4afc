"""One trial of requests: listen, ask through warm-up and window, collect; of several guests, all at once."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from vtax.campaign.ends import End, EndsPath
from vtax.campaign.observe import arm_cpus, observe, watch_cpus
from vtax.campaign.observed import Observed
from vtax.campaign.streams import ask
from vtax.campaign.tracing import tracing
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.scenario import Cell, Requests

PORT = 5001
SHORT_BYTES = 20
"""A request of fewer has no room to tell its length."""
TIMEOUT_MS = 2000
TIMEOUT_EMULATED_MS = 10_000
"""An answer that takes longer is none."""


@dataclass
class Exchanged(Observed):
    """Everything one trial brought home."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    """`requester.go`, by the guest's number."""
    tallies: list[dict[str, Any]] = field(default_factory=list)
    """`requester.collect`, likewise."""
    far_cpus: Collection[int] = ()
    """Where who asks runs, if on CPUs of its own."""

    @property
    def work(self) -> Requests:
        """What was asked of it."""
        return self.cell.requests

    def times(self, tally: dict[str, Any]) -> dict[str, Any]:
        """Response times: from when each request was due in an open loop, else from when it was sent."""
        told: dict[str, Any] = tally["corrected" if self.work.loop == "open" else "latency"]
        return told

    @property
    def mean_ns(self) -> float | None:
        """Of all requests that were answered."""
        times = [self.times(tally) for tally in self.tallies]
        count = sum(each["count"] for each in times)
        return (
            sum(each["count"] * each["mean_ns"] for each in times if each["count"]) / count if count else None
        )


def measure(
    path: EndsPath, cell: Cell, trial: int, guests: dict[str, dict[str, Any]], *, emulated: bool
) -> Exchanged:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Exchanged(trial, cell, datetime.now(UTC))
    # A guest that asks cannot do so for the host's CPUs, as a bare peer's agent does by itself.
    with cpu_latency_held():
        observe(path, measured, guests, lambda: _run(path, measured, emulated))
    return measured


def _run(path: EndsPath, measured: Exchanged, emulated: bool) -> None:
    work, source = measured.work, path.testbed.source
    timeout_ms = TIMEOUT_EMULATED_MS if emulated else TIMEOUT_MS
    measured.far_cpus = path.far_cpus
    go = {
        "trial": measured.trial,
        "warmup_s": work.warmup_s or None,
        "duration_s": work.duration_s,
        "transactions": None,
    }

    try:
        with tracing(source, path.meter, work, path.ways, "headers") as tracer:
            for asker, answerer in path.ends:
                answerer.call("responder.open", _listening(answerer, work))
                asker.call("requester.open", _asking(asker, answerer, work, timeout_ms))
            begin = time.monotonic()
            tracer.arm(begin - time.monotonic() + work.warmup_s, work.duration_s)
            arm_cpus(path, work, begin)
            asked = ask([(asker, "requester.go", go) for asker, _ in path.ends])
            measured.cpu, measured.far_end_cpu = watch_cpus(path, work, begin)
            # They connect first, and their last requests may wait for their answers in vain.
            patience_s = work.warmup_s + work.duration_s + 2 * timeout_ms / 1000 + 10
            measured.runs = [finish(patience_s) for finish in asked]
            measured.tallies = [asker.call("requester.collect", {}) for asker, _ in path.ends]
            measured.traced = tracer.read()
            measured.sampled = path.cpu_meter.read()
    finally:
        for asker, answerer in path.ends:
            _close(asker, "requester")
            _close(answerer, "responder")


def _listening(answerer: End, work: Requests) -> dict[str, Any]:
    return {
        **answerer.place,
        "protocol": work.transport,
        "address": answerer.address,
        "port": PORT,
        "response_bytes": _response_bytes(work),
        "short_message_bytes": work.message_bytes if work.message_bytes < SHORT_BYTES else None,
        "options": work.options,
    }


def _asking(asker: End, answerer: End, work: Requests, timeout_ms: int) -> dict[str, Any]:
    return {
        **asker.echo_to(answerer),
        "protocol": work.transport,
        "port": PORT,
        "message_bytes": work.message_bytes,
        "response_bytes": _response_bytes(work),
        "rps": work.requests_per_s if work.loop == "open" else None,
        "timeout_ms": timeout_ms,
        "options": work.options,
    }


def _response_bytes(work: Requests) -> int | str:
    return "equal" if work.response_bytes is None else work.response_bytes


def _close(end: End, role: str) -> None:
    """An end that never opened says so, and is passed over; so is an agent that is gone."""
    try:
        end.call(f"{role}.close", {})
    except (AgentError, AgentGone):
        return
