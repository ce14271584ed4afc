"""Trials of forwarding with chosen numbers, so that a test can compute by hand what a view must show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.helpers.results.builder import Row, Trial, encode, small
from vtax.units import fps

FRAMES_SENT = 10_000
Accounts = tuple[tuple[str, str, float], ...]
"""Domain, component and percent of a CPU."""
TICK_PERCENT = 0.1
"""What a tick of the kernel is in percent of a CPU, in a trial of ten seconds."""


@dataclass(frozen=True)
class Made(Trial):
    """What came, whose CPU time it was, and where frames were dropped; rates are each stream's.

    `threads` are those that the kernel counts by name: domain, component, percent of a CPU, and the percent that they
    were ready and had none. `ledger` is what was sampled. `drops` are hop, share of the frames sent, and reason.
    `lateness_ns` is how much of the delay is the source's; from a half of it on the delay is withheld.
    """

    SCENARIO: ClassVar = {
        "workload": {"kind": "forwarding"},
        "figures": ["throughput-by-load", "maximum-by-streams"],
    }
    KEY: ClassVar = ("streams", "frame_bytes", "intended_mbps")

    platform: str = "raw"
    block: int = 0
    received_mbps: float = 100.0
    offered_mbps: float = 100.0
    intended_mbps: float | None = 100.0
    frame_bytes: int = 64
    streams: int = 1
    delay_ns: float | None = 5_000
    lateness_ns: float | None = None
    samples: int = 1_000
    probes_lost: int | None = None
    clock_error_ns: float | None = None
    host: str = "local"
    host_percent: float | None = 20.0
    sink_percent: float | None = 1.5
    waited_share: float | None = None
    threads: tuple[tuple[str, str, float, float], ...] = ()
    ledger: Accounts = ()
    cpu: tuple[Row, ...] = ()
    canary: tuple[Row, ...] = ()
    drops: tuple[tuple[str, float, str], ...] | None = None
    uut_context: str = "own"
    uut_longest_pause_ns: float | None = None

    def columns(self) -> Row:
        return {"uut_context": self.uut_context, "uut_longest_pause_ns": self.uut_longest_pause_ns}

    def rows(self) -> dict[str, list[Row]]:
        streams = range(self.streams)
        flow, probes = self._flow(), self._probes()
        return {
            "flows": [{"stream": stream, **flow} for stream in streams],
            "cpu": [*self.cpu, *self._counted(), *self._sampled()],
            "hops": self._hops(),
            "canary": [*self.canary],
            "latency": [{"stream": stream, **each} for stream in streams for each in probes],
        }

    def _flow(self) -> Row:
        lost = max(0, round(FRAMES_SENT * (1 - self.received_mbps / self.offered_mbps)))
        quantiles = (("p50", 20), ("p99", 1_000))
        return {
            "role": "victim",
            "offered_mbps": self.offered_mbps,
            "received_mbps": self.received_mbps,
            "offered_fps": fps(self.offered_mbps, self.frame_bytes),
            "received_fps": fps(self.received_mbps, self.frame_bytes),
            "frames_sent": FRAMES_SENT,
            "frames_received": FRAMES_SENT - lost,
            "frames_lost": lost,
            "loss_ratio": lost / FRAMES_SENT,
            "clock_error_ns": self.clock_error_ns,
            "waited_share": self.waited_share,
            **{
                f"{time}_{name}_ns": value
                for time, value in self._times().items()
                for name, least in quantiles
                if self.samples >= least
            },
        }

    def _times(self) -> dict[str, float | None]:
        if self.delay_ns is None or self.lateness_ns is None:
            return {"latency": self.delay_ns}
        left = self.delay_ns - self.lateness_ns
        told = None if self.lateness_ns >= left else self.delay_ns
        return {"latency": told, "lateness": self.lateness_ns, "since_departure": left}

    def _probes(self) -> list[Row]:
        if self.delay_ns is None:
            return []
        histogram = encode(np.full(self.samples, self.delay_ns))
        return [{"kind": "one-way", "corrected": False, "lost": self.probes_lost, "histogram": histogram}]

    def _counted(self) -> list[Row]:
        totals = [("host", "total", self.host_percent, None)] if self.host_percent is not None else []
        sink = {"host": "local", "domain": "sink", "component": "calibrated", "percent": self.sink_percent}
        counted = [
            {"host": self.host, **_whose(domain), "component": name, "percent": percent, "wait_percent": wait}
            for domain, name, percent, wait in (*totals, *self.threads)
        ]
        for row in counted[: len(totals)]:
            row |= {"low": row["percent"] - TICK_PERCENT, "high": row["percent"] + TICK_PERCENT}
        return counted if self.sink_percent is None else [*counted, sink]

    def _sampled(self) -> list[Row]:
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

    def _hops(self) -> list[Row]:
        if self.drops is None:
            return []
        rows: list[Row] = []
        left = FRAMES_SENT
        for hop, share, reason in self.drops or (("link", 0.0, ""),):
            if not rows and hop != "link":
                rows.append(_hop("link", left, 0, None))
            dropped = round(share * FRAMES_SENT)
            rows.append(_hop(hop, left, dropped, reason or None))
            left -= dropped
        return rows


def blocks(values: Sequence[float], **fixed: Any) -> list[Made]:
    """One trial a block with these received rates."""
    return [Made(block=block, received_mbps=value, **fixed) for block, value in enumerate(values)]


def held(values: Sequence[float], **fixed: Any) -> list[Made]:
    """One flood a block that the platform held back to these rates, so that nothing was lost."""
    fixed = {"intended_mbps": None, "marks": ("backpressured",), **fixed}
    return [
        Made(block=block, received_mbps=value, offered_mbps=value, **fixed)
        for block, value in enumerate(values)
    ]


def _whose(domain: str) -> Row:
    return {"domain": domain, "guest": 0 if domain in ("guest", "neighbour") else None}


def _hop(name: str, received: int, dropped: int, reason: str | None) -> Row:
    return {
        "stream": 0,
        "hop": name,
        "received": received,
        "forwarded": received - dropped,
        "dropped": dropped,
        "reason": reason,
    }


RESULT = small(
    [*blocks([90.0, 92.0, 91.0]), *blocks([60.0, 62.0, 61.0], platform="container")],
    "schlosser2011",
    "dedicated",
)
