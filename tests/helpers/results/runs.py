"""Runs of rounds with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median_low
from typing import TypeVar

from tests.helpers.results.builder import Row, Trial

FIGURES = ["rounds-mesh", "rounds-surface", "rounds-histogram", "null-ladder"]
TIMES_US = [10.0, 20.0, 30.0]


@dataclass(frozen=True)
class MadeRounds(Trial):
    """One run, by how long each round took; None is a round that failed."""

    run: int
    us: Sequence[float | None]
    wall_s: float = field(default=0.001, kw_only=True)

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


Rounds = TypeVar("Rounds", bound=MadeRounds)


def run_a_block(made: type[Rounds]) -> list[Rounds]:
    """Make a run a block, each of another length, and longer ones in containers."""
    return [
        made(run, [more_us + run + us for us in TIMES_US], platform=platform, block=run)
        for run in range(3)
        for platform, more_us in (("raw", 0.0), ("container", 100.0))
    ]
