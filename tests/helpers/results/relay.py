"""Runs of relays and of programs with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import ClassVar

from tests.helpers.results.builder import Row, Trial

FIGURES = ["rounds-mesh", "rounds-surface", "rounds-histogram", "null-ladder"]


@dataclass(frozen=True)
class MadeRun(Trial):
    """One run of a relay, by how long each round took; None is a round that failed."""

    SCENARIO: ClassVar = {"workload": {"kind": "relay"}, "figures": FIGURES}
    KEY: ClassVar[Sequence[str]] = ("hops", "load")

    run: int
    us: Sequence[float | None]
    hops: int | None = 1
    load: str = "network"
    wall_s: float = 0.001

    def columns(self) -> Row:
        sends = self.load == "network"
        return {
            "run": self.run,
            "placement": "one-guest",
            "transport": "tcp" if sends else None,
            "connection": "fresh" if sends else None,
            "message_bytes": 4,
            "interval_ms": 0.0,
        }

    def rows(self) -> dict[str, list[Row]]:
        samples = [
            {
                "run": self.run,
                "iteration": iteration,
                "ns": round(1000 * (us or 2_000_000)),
                "status": "timeout" if us is None else "done",
            }
            for iteration, us in enumerate(self.us)
        ]
        done_ns = sorted(1000 * us for us in self.us if us is not None)
        flow = {
            "role": "victim",
            "guest": 0,
            "duration_s": self.wall_s,
            "loss_ratio": 1 - len(done_ns) / len(self.us) if self.us else None,
            "latency_mean_ns": fmean(done_ns) if done_ns else None,
            "latency_p50_ns": median_low(done_ns) if done_ns else None,
        }
        return {"flows": [flow], "samples": samples}


@dataclass(frozen=True)
class MadeProgram(MadeRun):
    """A run of a client program, which has no hops."""

    SCENARIO: ClassVar = {"workload": {"kind": "program"}, "figures": FIGURES}
    KEY: ClassVar[Sequence[str]] = ("placement",)

    placement: str = "inside"

    def columns(self) -> Row:
        return {"run": self.run, "load": "program", "server": "lighttpd"}
