"""Results of traced requests with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.results.forwarding import make
from tests.helpers.results.synthetic import encode
from vtax.results import Result, TrialRecord

STAGES = ("driver", "switch", "backend")


@dataclass(frozen=True)
class MadeTrace:
    """One trial of one cell, whose packets to a guest took `switch_us` in the switch, and 1 µs and 4 µs beside it."""

    block: int
    switch_us: float
    platform: str = "container"
    guests: int = 1
    trace: str = "stages"
    emulated: bool = False
    verdict: str = "valid"
    median_us: float = 50
    further: tuple[tuple[str, str], ...] = ()

    def record(self, trial_id: int) -> TrialRecord:
        trial = {
            "trial_id": trial_id,
            "cell": f"platform={self.platform} guests={self.guests} trace={self.trace}",
            "block": self.block,
            "platform": self.platform,
            "guests": self.guests,
            "transport": "tcp",
            "placement": "guest-to-peer",
            "message_bytes": 64,
            "trace": self.trace,
            "emulated": self.emulated,
            "verdict": self.verdict,
            "marks": ["traced"] if self.trace == "stages" else [],
            "reasons": [],
            "started_at": datetime(2025, 1, 1, tzinfo=UTC),
        }
        flow = {
            "role": "victim",
            "guest": 0,
            "transactions": 90,
            "latency_mean_ns": 50_000.0,
            "latency_p50_ns": 1000 * self.median_us,
            "duration_s": 1.0,
        }
        if self.trace == "none":
            return TrialRecord(trial, [flow])
        rows = [row for guest in range(self.guests) for row in self.stages(guest)]
        unattributed = {"direction": "through", "stage": "unattributed", "count": 100, "mean_ns": 9000.0}
        return TrialRecord(trial, [flow], stages=[*rows, unattributed], packets=self.packets())

    def stages(self, guest: int) -> list[dict[str, Any]]:
        means_us = (1.0, self.switch_us, 4.0, 5.0 + self.switch_us)
        return [
            {
                "host": "uut",
                "guest": guest,
                "way": f"uut guest{guest} rx",
                "direction": "rx",
                "stage": stage,
                "position": None if stage == "total" else place,
                "count": 100,
                "mean_ns": 1000 * mean_us,
                "histogram": encode(np.linspace(0.5, 1.5, 100) * 1000 * mean_us),
                "strayed": 3,
                "lost_events": 1,
                "hook_ns": 80.0,
            }
            for place, (stage, mean_us) in enumerate(zip((*STAGES, "total"), means_us, strict=True))
        ]

    def packets(self) -> list[dict[str, Any]]:
        """Three packets, of which the second is as long on its way as it says."""
        return [
            {
                "packet": packet,
                "host": "uut",
                "guest": 0,
                "way": "uut guest0 rx",
                "position": position,
                "stage": stage,
                "function": hook,
                "interface": "in0",
                "at_ns": 1_000_000 * packet + at_ns * (1 + packet),
            }
            for packet in range(3)
            for position, (hook, stage, at_ns) in enumerate(
                (("arrive", None, 0), ("receive", "rx driver", 500), ("queue", "rx switch", 2000))
            )
        ]


def traces(directory: Path, trials: Sequence[MadeTrace], **scenario: Any) -> Result:
    figures = ["stage-distributions", "stages-by-guests"]
    return make(
        directory, trials, scenario={"workload": {"kind": "requests"}, "figures": figures, **scenario}
    )
