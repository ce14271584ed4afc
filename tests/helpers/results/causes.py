"""Results of forwarding in which something is the matter, with chosen numbers, for tests of the diagnosis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.results.forwarding import make
from vtax.results import Result, TrialRecord
from vtax.units import fps

FRAMES_SENT = 10_000
SCATTER = (0.0, 0.01, -0.01, 0.005)
"""By which values differ from block to block, as a share."""
Accounts = tuple[tuple[str, str, float], ...]
"""Domain, component and percent of a CPU."""


@dataclass(frozen=True)
class MadeCause:
    """One trial: what came, whose CPU time it was, and where frames were dropped (hop, share of those sent, reason).

    `threads` are those that the kernel counts by name, with the percent that they were ready and had no CPU.
    """

    platform: str = "raw"
    block: int = 0
    received_mbps: float = 100.0
    offered_mbps: float = 100.0
    intended_mbps: float | None = 100.0
    delay_ns: float | None = 5_000.0
    host_percent: float = 20.0
    threads: tuple[tuple[str, str, float, float], ...] = (("host", "ingress in0", 20.0, 0.0),)
    ledger: Accounts = ()
    drops: tuple[tuple[str, float, str], ...] = ()
    marks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    verdict: str = "valid"
    uut_context: str = "own"
    emulated: bool = False
    further: tuple[tuple[str, str], ...] = ()

    @property
    def cell(self) -> str:
        load = "max" if self.intended_mbps is None else f"{self.intended_mbps:g}"
        levels = [f"{name}={value}" for name, value in self.further]
        return " ".join([f"platform={self.platform} intended_mbps={load}", *levels])

    def record(self, trial_id: int) -> TrialRecord:
        lost = round(FRAMES_SENT * sum(share for _, share, _ in self.drops))
        return TrialRecord(
            {
                "trial_id": trial_id,
                "cell": self.cell,
                "block": self.block,
                "position": trial_id,
                "repetition": self.block,
                "attempt": 0,
                "platform": self.platform,
                "streams": 1,
                "frame_bytes": 64,
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
            [
                {
                    "role": "victim",
                    "stream": 0,
                    "offered_mbps": self.offered_mbps,
                    "received_mbps": self.received_mbps,
                    "received_fps": fps(self.received_mbps, 64),
                    "frames_sent": FRAMES_SENT,
                    "frames_received": FRAMES_SENT - lost,
                    "frames_lost": lost,
                    "latency_p50_ns": self.delay_ns,
                    "duration_s": 1.0,
                }
            ],
            cpu=[*self._counted(), *self._ledger()],
            hops=self._hops(),
        )

    def _counted(self) -> list[dict[str, Any]]:
        rows = [("host", "total", self.host_percent, None), ("steal", "total", 0.0, None), *self.threads]
        return [
            {
                "host": "uut",
                **_whose(domain),
                "component": component,
                "percent": percent,
                "wait_percent": wait,
            }
            for domain, component, percent, wait in rows
        ]

    def _ledger(self) -> list[dict[str, Any]]:
        return [
            {
                "host": "local",
                **_whose(domain),
                "component": component,
                "percent": percent,
                "samples": round(10 * percent),
            }
            for domain, component, percent in self.ledger
        ]

    def _hops(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        left = FRAMES_SENT
        for hop, share, reason in self.drops or (("link", 0.0, ""),):
            if not rows and hop != "link":
                rows.append(_hop("link", left, 0, None))
            dropped = round(share * FRAMES_SENT)
            rows.append(_hop(hop, left, dropped, reason or None))
            left -= dropped
        return rows


def repeated(trial: MadeCause, scatter: Sequence[float] = SCATTER) -> list[MadeCause]:
    """The trial in as many blocks, whose rates and delays differ a little."""
    return [
        replace(
            trial,
            block=block,
            received_mbps=trial.received_mbps * (1 + by),
            offered_mbps=trial.offered_mbps * (1 + by),
            delay_ns=None if trial.delay_ns is None else trial.delay_ns * (1 - by),
        )
        for block, by in enumerate(scatter)
    ]


def make_causes(directory: Path, *trials: MadeCause, **campaign: Any) -> Result:
    """Write each trial in four blocks, on a testbed of two CPUs, the second one the unit under test's."""
    layout = {"agents": [0], "host": [1], "guests": [1]}
    content = {"testbed": {"name": "local", "cpus": layout}, **campaign}
    return make(directory, [each for trial in trials for each in repeated(trial)], **content)


def _whose(domain: str) -> dict[str, Any]:
    return {"domain": domain, "guest": 0 if domain in ("guest", "neighbour") else None}


def _hop(name: str, received: int, dropped: int, reason: str | None) -> dict[str, Any]:
    return {
        "stream": 0,
        "hop": name,
        "received": received,
        "forwarded": received - dropped,
        "dropped": dropped,
        "reason": reason,
    }


BUSY_RAW = MadeCause(
    host_percent=100.0,
    threads=(("host", "ingress in0", 99.0, 1.0),),
    ledger=(("host", "ingress in0", 99.0), ("host", "softirq", 1.0), ("idle", "idle", 100.0)),
    intended_mbps=None,
    marks=("generator-limited",),
)
"""Raw under a flood: its thread is all that runs."""
CALM_RAW = MadeCause(ledger=(("host", "ingress in0", 20.0), ("idle", "idle", 180.0)))
"""Raw at a load that it carries in full, with time to spare."""
HOGGED = replace(
    BUSY_RAW,
    platform="container",
    received_mbps=50.0,
    offered_mbps=50.0,
    threads=(("host", "ingress in0", 49.5, 50.0),),
    ledger=(
        ("host", "ingress in0", 49.5),
        ("host", "softirq", 0.5),
        ("host", "foreign", 50.0),
        ("idle", "idle", 100.0),
    ),
    marks=("backpressured",),
)
CAPPED = replace(
    CALM_RAW,
    platform="container",
    received_mbps=40.0,
    drops=(("UUT egress", 0.6, "queue full (dropped_queue of out0)"),),
)
