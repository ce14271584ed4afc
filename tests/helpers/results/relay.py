"""Results of relays and of programs with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.results.forwarding import make
from vtax.results import Result, TrialRecord

FIGURES = ["rounds-mesh", "rounds-surface", "rounds-histogram", "null-ladder"]


@dataclass(frozen=True)
class MadeRun:
    """One run; None is a round that failed."""

    run: int
    us: Sequence[float | None]
    platform: str = "raw"
    hops: int = 1
    load: str = "network"
    wall_s: float = 0.001
    emulated: bool = False
    verdict: str = "valid"
    block: int = 0
    further: tuple[tuple[str, str], ...] = ()

    def record(self, trial_id: int) -> TrialRecord:
        trial = {
            "trial_id": trial_id,
            "cell": f"platform={self.platform} hops={self.hops} load={self.load}",
            "block": self.block,
            "run": self.run,
            "platform": self.platform,
            "hops": self.hops,
            "load": self.load,
            "placement": "one-guest",
            "transport": "tcp" if self.load == "network" else None,
            "connection": "fresh" if self.load == "network" else None,
            "message_bytes": 4,
            "interval_ms": 0.0,
            "emulated": self.emulated,
            "verdict": self.verdict,
            "marks": [],
            "reasons": [],
            "started_at": datetime(2025, 1, 1, tzinfo=UTC),
        }
        samples = [
            {
                "run": self.run,
                "iteration": iteration,
                "ns": round(1000 * (us or 2_000_000)),
                "status": "timeout" if us is None else "done",
            }
            for iteration, us in enumerate(self.us)
        ]
        flow = {"role": "victim", "guest": 0, "duration_s": self.wall_s}
        return TrialRecord(trial, [flow], samples=samples)


def rounds(directory: Path, runs: Sequence[MadeRun], **scenario: Any) -> Result:
    return make(directory, runs, scenario={"workload": {"kind": "relay"}, "figures": FIGURES, **scenario})


@dataclass(frozen=True)
class MadeProgram(MadeRun):
    """A run of a client program; `hops` has no meaning for it."""

    placement: str = "inside"

    def record(self, trial_id: int) -> TrialRecord:
        made = super().record(trial_id)
        absent = ("hops", "transport", "connection", "message_bytes", "interval_ms")
        own = {"load": "program", "server": "lighttpd", "placement": self.placement}
        cell = f"platform={self.platform} placement={self.placement}"
        return replace(made, trial={**made.trial, **dict.fromkeys(absent), **own, "cell": cell})
