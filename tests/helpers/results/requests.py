"""Trials of requests and their answers with chosen numbers."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tests.helpers.results.builder import Row, Trial, small


@dataclass(frozen=True)
class MadeResponses(Trial):
    """How long answers took, None where none came, and the share that was lost."""

    SCENARIO: ClassVar = {"workload": {"kind": "requests"}, "figures": ["response-time-by-message"]}
    KEY: ClassVar = ("transport", "message_bytes")

    block: int = field(kw_only=False)
    mean_us: float | None
    message_bytes: int = 64
    transport: str = "tcp"
    placement: str = "inter-host"
    lost: float = 0.0

    def columns(self) -> Row:
        return {"placement": self.placement, "loop": "closed"}

    def rows(self) -> dict[str, list[Row]]:
        mean_ns = None if self.mean_us is None else self.mean_us * 1000
        flow = {
            "role": "victim",
            "guest": 0,
            "transactions": 0 if mean_ns is None else 5000,
            "latency_mean_ns": mean_ns,
            "latency_deviation_ns": 7000.0,
            "latency_p50_ns": mean_ns,
            "loss_ratio": 1.0 if mean_ns is None else self.lost,
            "retransmissions": 2,
            "duration_s": 10.0,
        }
        host = {"host": "uut", "domain": "host", "component": "total", "percent": 40.0}
        return {"flows": [flow], "cpu": [host]}


def both(*raw_us: float, **fixed: Any) -> list[MadeResponses]:
    """Raw in these times, and a container in 20 µs more."""
    return [
        MadeResponses(block, mean_us + more_us, platform=platform, **fixed)
        for block, mean_us in enumerate(raw_us)
        for platform, more_us in (("raw", 0), ("container", 20))
    ]


RESULT = small(both(40, 80, 60), "oljira2016", "co-located")
