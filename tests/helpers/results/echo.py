"""Trials of echoes with chosen numbers."""

from dataclasses import dataclass, field
from typing import ClassVar

from tests.helpers.results.builder import Row, Trial, small


@dataclass(frozen=True)
class MadeEcho(Trial):
    """How long the first guest's answers took, None where none came, and the share that was lost.

    The others send where they do `tcp`.
    """

    SCENARIO: ClassVar = {"workload": {"kind": "echo"}, "figures": []}
    KEY: ClassVar = ("guests", "others")

    block: int = field(kw_only=False)
    mean_us: float | None
    guests: int = 2
    others: str = "idle"
    lost: float = 0.0

    def columns(self) -> Row:
        return {"payload_bytes": 56, "interval_ms": 10.0}

    def rows(self) -> dict[str, list[Row]]:
        mean_ns = None if self.mean_us is None else self.mean_us * 1000
        asked = {
            "role": "victim",
            "guest": 0,
            "latency_mean_ns": mean_ns,
            "loss_ratio": 1.0 if mean_ns is None else self.lost,
        }
        sending = range(1, self.guests if self.others == "tcp" else 1)
        streams = [
            {"role": "neighbour", "guest": guest, "goodput_mbps": 100.0, "loss_ratio": None}
            for guest in sending
        ]
        return {"flows": [asked, *streams]}


RESULT = small(
    [
        MadeEcho(block, mean_us + block, platform=platform)
        for platform, mean_us in (("raw", 90.0), ("container", 190.0))
        for block in range(3)
    ],
    "anhalt2009",
    "latency",
)
