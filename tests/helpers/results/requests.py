"""Results of requests and their answers with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.results.forwarding import make
from vtax.results import Result, TrialRecord


@dataclass(frozen=True)
class MadeResponses:
    """One trial of one cell."""

    block: int
    mean_us: float | None
    platform: str = "raw"
    message_bytes: int = 64
    transport: str = "tcp"
    placement: str = "inter-host"
    emulated: bool = False
    verdict: str = "valid"
    further: tuple[tuple[str, str], ...] = ()

    def record(self, trial_id: int) -> TrialRecord:
        mean_ns = None if self.mean_us is None else self.mean_us * 1000
        flow = {
            "role": "victim",
            "guest": 0,
            "transactions": 0 if mean_ns is None else 5000,
            "latency_mean_ns": mean_ns,
            "latency_deviation_ns": 7000.0,
            "latency_p50_ns": mean_ns,
            "loss_ratio": 1.0 - (mean_ns is not None),
            "retransmissions": 2,
            "duration_s": 10.0,
        }
        trial = {
            "trial_id": trial_id,
            "cell": f"platform={self.platform} transport={self.transport} message_bytes={self.message_bytes}",
            "block": self.block,
            "repetition": self.block,
            "platform": self.platform,
            "transport": self.transport,
            "placement": self.placement,
            "message_bytes": self.message_bytes,
            "loop": "closed",
            "emulated": self.emulated,
            "verdict": self.verdict,
            "marks": [],
            "reasons": [],
            "started_at": datetime(2025, 1, 1, tzinfo=UTC),
        }
        host = {"host": "uut", "domain": "host", "component": "total", "percent": 40.0}
        return TrialRecord(trial, [flow], cpu=[host])


def responses(directory: Path, trials: Sequence[MadeResponses], **scenario: Any) -> Result:
    figures = ["response-time-by-message"]
    return make(
        directory, trials, scenario={"workload": {"kind": "requests"}, "figures": figures, **scenario}
    )


def both(*raw_us: float, **fixed: Any) -> list[MadeResponses]:
    """Raw in these times, and a container in 20 µs more."""
    return [
        MadeResponses(block, mean_us + more_us, platform, **fixed)
        for block, mean_us in enumerate(raw_us)
        for platform, more_us in (("raw", 0), ("container", 20))
    ]
