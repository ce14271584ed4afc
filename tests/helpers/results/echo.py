"""Results of echoes with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.results.forwarding import make
from vtax.results import Result, TrialRecord


@dataclass(frozen=True)
class MadeEcho:
    """One trial of one cell."""

    block: int
    mean_us: float | None
    platform: str = "raw"
    guests: int = 2
    others: str = "idle"
    emulated: bool = False
    verdict: str = "valid"
    further: tuple[tuple[str, str], ...] = ()

    def record(self, trial_id: int) -> TrialRecord:
        mean_ns = None if self.mean_us is None else self.mean_us * 1000
        asked = {
            "role": "victim",
            "guest": 0,
            "latency_mean_ns": mean_ns,
            "loss_ratio": 1.0 - (mean_ns is not None),
        }
        streams = [
            {"role": "neighbour", "guest": guest, "goodput_mbps": 100.0, "loss_ratio": None}
            for guest in range(1, self.guests)
            if self.others == "tcp"
        ]
        return TrialRecord(
            {
                "trial_id": trial_id,
                "cell": f"platform={self.platform} guests={self.guests} others={self.others}",
                "block": self.block,
                "repetition": self.block,
                "platform": self.platform,
                "guests": self.guests,
                "others": self.others,
                "payload_bytes": 56,
                "interval_ms": 10.0,
                "emulated": self.emulated,
                "verdict": self.verdict,
                "marks": [],
                "reasons": [],
                "started_at": datetime(2025, 1, 1, tzinfo=UTC),
            },
            [asked, *streams],
        )


def echoes(directory: Path, trials: Sequence[MadeEcho], **scenario: Any) -> Result:
    return make(directory, trials, scenario={"workload": {"kind": "echo"}, "figures": [], **scenario})
