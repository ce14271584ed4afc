"""What a source did with the measured window: it waited for room, was on its CPU, or was kept off it."""

from dataclasses import dataclass
from typing import Any

from vtax.campaign.forwarding.trial import Measured


@dataclass(frozen=True)
class ThreadShares:
    """A source's thread, which serves all streams of its host, as shares of the window."""

    ran: float
    """It was on its CPU."""
    kept_off: float
    """It was ready, and something else was on its CPU."""


def waited_share(measured: Measured, stream: dict[str, Any]) -> float | None:
    """Return the share of the window in which a stream waited for room; None where its mechanism does not report it."""
    phase = measured.phase(stream)
    waited_ns = phase["waited_ns"]
    return None if waited_ns is None else min(1.0, waited_ns / (phase["end_ns"] - phase["start_ns"]))


def thread_shares(measured: Measured, host: str) -> ThreadShares | None:
    """Return what the thread of the source on `host` did; None where its kernel does not account for it."""
    (thread,) = (source["thread"] for source in measured.source["hosts"] if source["host"] == host)
    if thread is None:
        return None
    stream = next(stream for stream in measured.source["streams"] if stream["host"] == host)
    phase = measured.phase(stream)
    window_ns = phase["end_ns"] - phase["start_ns"]
    # The thread is read just outside the window.
    ran, kept_off = (min(1.0, thread[key] / window_ns) for key in ("run_ns", "run_delay_ns"))
    return ThreadShares(ran, kept_off)
