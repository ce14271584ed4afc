"""Results with chosen numbers, so that a test can compute by hand what a view must show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tests.helpers.results.synthetic import encode
from vtax.results import Result, ResultWriter, TrialRecord
from vtax.units import fps

FRAMES_SENT = 10_000


@dataclass(frozen=True)
class Made:
    """One trial of one cell; rates are each stream's."""

    platform: str = "raw"
    block: int = 0
    received_mbps: float = 100.0
    offered_mbps: float = 100.0
    intended_mbps: float | None = 100.0
    frame_bytes: int = 64
    streams: int = 1
    delay_ns: int | None = 5_000
    samples: int = 1_000
    probes_lost: int | None = None
    clock_error_ns: float | None = None
    host_percent: float | None = 20.0
    verdict: str = "valid"
    marks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    uut_context: str = "own"
    emulated: bool = False
    further: tuple[tuple[str, str], ...] = ()
    ledger: tuple[dict[str, Any], ...] = ()

    @property
    def cell(self) -> str:
        load = "max" if self.intended_mbps is None else f"{self.intended_mbps:g}"
        key = f"platform={self.platform} streams={self.streams} frame_bytes={self.frame_bytes}"
        return " ".join([key, f"intended_mbps={load}", *(f"{name}={value}" for name, value in self.further)])

    def record(self, trial_id: int) -> TrialRecord:
        lost = round(FRAMES_SENT * (1 - self.received_mbps / self.offered_mbps))
        flow = {
            "role": "victim",
            "offered_mbps": self.offered_mbps,
            "received_mbps": self.received_mbps,
            "received_fps": fps(self.received_mbps, self.frame_bytes),
            "frames_sent": FRAMES_SENT,
            "frames_received": FRAMES_SENT - lost,
            "frames_lost": lost,
            "loss_ratio": lost / FRAMES_SENT,
            "clock_error_ns": self.clock_error_ns,
            **{
                f"latency_{name}_ns": self.delay_ns
                for name, least in (("p50", 20), ("p99", 1_000))
                if self.samples >= least
            },
        }
        total = {"host": "local", "domain": "host", "component": "total", "percent": self.host_percent}
        sink = {"host": "local", "domain": "sink", "component": "calibrated", "percent": 1.5}
        histogram = None if self.delay_ns is None else encode(np.full(self.samples, self.delay_ns))
        return TrialRecord(
            {
                "trial_id": trial_id,
                "cell": self.cell,
                "block": self.block,
                "position": trial_id,
                "repetition": self.block,
                "attempt": 0,
                "platform": self.platform,
                "streams": self.streams,
                "frame_bytes": self.frame_bytes,
                "intended_mbps": self.intended_mbps,
                "accelerator": "emulated" if self.emulated else "none",
                "emulated": self.emulated,
                "uut_context": self.uut_context,
                "verdict": self.verdict,
                "marks": list(self.marks),
                "reasons": list(self.reasons),
                "started_at": datetime(2025, 1, 1, tzinfo=UTC),
                **dict(self.further),
            },
            [{"stream": stream, **flow} for stream in range(self.streams)],
            cpu=[*self.ledger, *([total, sink] if self.host_percent is not None else [sink])],
            latency=[
                {
                    "stream": stream,
                    "kind": "one-way",
                    "corrected": False,
                    "lost": self.probes_lost,
                    "histogram": histogram,
                }
                for stream in range(self.streams)
                if histogram
            ],
        )


def blocks(values: Sequence[float], **fixed: Any) -> list[Made]:
    """One trial a block with these received rates."""
    return [Made(block=block, received_mbps=value, **fixed) for block, value in enumerate(values)]


class Makes(Protocol):
    """A trial that can be written."""

    platform: str
    block: int
    emulated: bool
    further: tuple[tuple[str, str], ...]

    def record(self, trial_id: int) -> TrialRecord: ...


def make(directory: Path, trials: Iterable[Makes], **campaign: Any) -> Result:
    """Write the trials through the real writer and open the result."""
    trials = list(trials)
    factors: dict[str, list[Any]] = {
        "platform": list(dict.fromkeys(trial.platform for trial in trials)),
        **{name: [] for trial in trials for name, _ in trial.further},
    }
    scenario = {
        "name": "handmade",
        "title": "Handmade",
        "factors": factors,
        "repetitions": len({trial.block for trial in trials}),
        "figures": ["throughput-by-load", "maximum-by-streams"],
    }
    content = {
        "name": "handmade",
        "scenario": {**scenario, **campaign.pop("scenario", {})},
        "seed": 7,
        "status": "complete",
        "platforms": {
            trial.platform: {
                "title": trial.platform,
                "kind": "x",
                "emulated": trial.emulated,
                "skipped": None,
            }
            for trial in trials
        },
        "command": ["vtax", "run", "handmade"],
        **campaign,
    }
    with ResultWriter.create(directory, content) as writer:
        for trial_id, trial in enumerate(sorted(trials, key=lambda trial: trial.block)):
            writer.commit(trial.record(trial_id))
    return Result.open(directory)
