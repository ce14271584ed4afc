"""Trials of traced requests with chosen numbers."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tests.helpers.results.builder import Row, Trial, encode, small

STAGES = ("driver", "switch", "backend")


@dataclass(frozen=True)
class MadeTrace(Trial):
    """Requests whose packets to a guest took `switch_us` in the switch, and 1 µs and 4 µs beside it."""

    SCENARIO: ClassVar = {
        "workload": {"kind": "requests"},
        "figures": ["stage-distributions", "stages-by-guests"],
    }
    KEY: ClassVar = ("guests", "trace")

    block: int = field(kw_only=False)
    switch_us: float
    guests: int = 1
    trace: str = "stages"
    median_us: float = 50
    platform: str = field(default="container", kw_only=True)

    def columns(self) -> Row:
        marks = ["traced"] if self.trace == "stages" else []
        return {"transport": "tcp", "placement": "guest-to-peer", "message_bytes": 64, "marks": marks}

    def rows(self) -> dict[str, list[Row]]:
        flow = {
            "role": "victim",
            "guest": 0,
            "transactions": 90,
            "latency_mean_ns": 50_000.0,
            "latency_p50_ns": 1000 * self.median_us,
            "duration_s": 1.0,
        }
        if self.trace == "none":
            return {"flows": [flow]}
        stages = [row for guest in range(self.guests) for row in self.stages(guest)]
        unattributed = {"direction": "through", "stage": "unattributed", "count": 100, "mean_ns": 9000.0}
        return {"flows": [flow], "stages": [*stages, unattributed], "packets": self.packets()}

    def stages(self, guest: int) -> list[Row]:
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

    def packets(self) -> list[Row]:
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


RESULT = small([MadeTrace(block, 5.0) for block in range(3)], "oljira2016", "breakdown")
