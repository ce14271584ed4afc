"""A made-up result, for tests of what reads results. Nothing in it was measured; nothing but tests uses it.

It goes to disk through the real ResultWriter. Each platform forwards up to a capacity of its own and loses
the rest, delay grows towards that capacity, and values scatter by block and by trial, from a fixed seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.results.builder import encode, write
from vtax import units
from vtax.results import TrialRecord

FLOOD_CEILING_FPS = 1_250_000.0
DURATION_S = 10.0


@dataclass(frozen=True)
class Model:
    """What the generator makes of a platform."""

    title: str
    kind: str
    accelerator: str
    capacity_fps: float  # of all streams together
    delay_ns: float  # median while idle
    cpu_percent: float  # at capacity


MODELS = {
    "raw": Model("The host's kernel", "raw", "none", 1_300_000, 6_000, 70),
    "container": Model("OCI container", "container", "none", 980_000, 8_500, 85),
    "qemu-virtio": Model("QEMU, virtio-net", "qemu", "emulated", 95_000, 160_000, 99),
    "qemu-e1000": Model("QEMU, e1000", "qemu", "emulated", 38_000, 420_000, 99),
}


def make_result(
    directory: Path,
    *,
    platforms: Sequence[str] = tuple(MODELS),
    streams: Sequence[int] = (1, 2),
    frame_bytes: Sequence[int] = (64, 1500),
    loads: Sequence[float | None] = (100.0, 400.0, 1000.0, None),
    repetitions: int = 3,
    seed: int = 1,
) -> Path:
    """Write a synthetic campaign into `directory` and return it.

    `loads` are intended Mbit/s a stream, None is the flood. The last repetition of the first cell is
    suspect; the last cell has an invalid first attempt in block 0, followed by a valid one.
    """
    rng = np.random.default_rng(seed)
    cells = list(product(platforms, streams, frame_bytes, loads))
    factors: dict[str, list[Any]] = {
        "platform": list(platforms),
        "streams": list(streams),
        "frame_bytes": list(frame_bytes),
        "intended_mbps": ["max" if load is None else load for load in loads],
    }
    campaign = _campaign(factors, repetitions, seed)
    records: list[TrialRecord] = []
    for block in range(repetitions):
        drift = {platform: rng.normal(1.0, 0.01) for platform in platforms}
        for position, index in enumerate(rng.permutation(len(cells))):
            verdicts = ["valid"]
            if index == 0 and block == repetitions - 1:
                verdicts = ["suspect"]
            elif index == len(cells) - 1 and block == 0:
                verdicts = ["invalid", "valid"]
            for attempt, verdict in enumerate(verdicts):
                cell = Cell(*cells[index])
                place = {"block": block, "position": position, "repetition": block, "attempt": attempt}
                trial = {"trial_id": len(records), **place}
                records.append(cell.record(trial, verdict, drift[cell.platform], rng))
    return write(directory, campaign, records).directory


@dataclass(frozen=True)
class Cell:
    """A cell of the made-up grid."""

    platform: str
    streams: int
    frame_bytes: int
    intended_mbps: float | None

    @property
    def key(self) -> str:
        load = "max" if self.intended_mbps is None else f"{self.intended_mbps:g}"
        size = f"streams={self.streams} frame_bytes={self.frame_bytes}"
        return f"platform={self.platform} {size} intended_mbps={load}"

    def record(
        self, place: dict[str, Any], verdict: str, drift: float, rng: np.random.Generator
    ) -> TrialRecord:
        """One trial of this cell; `drift` is what its block does to the platform."""
        model = MODELS[self.platform]
        flood = self.intended_mbps is None
        intended_fps = None if self.intended_mbps is None else units.fps(self.intended_mbps, self.frame_bytes)
        ceiling_fps = min(FLOOD_CEILING_FPS, self.streams * units.fps(1000.0, self.frame_bytes))
        offered_fps = min(ceiling_fps / self.streams, intended_fps or ceiling_fps) * rng.normal(1.0, 0.0005)
        capacity_fps = model.capacity_fps * drift * rng.normal(1.0, 0.01) / self.streams
        received_fps = min(offered_fps, capacity_fps)
        limited = intended_fps is None or offered_fps < 0.995 * intended_fps
        mark = "generator-limited" if ceiling_fps == FLOOD_CEILING_FPS else "link-limited"
        trial = {
            **place,
            "cell": self.key,
            "platform": self.platform,
            "streams": self.streams,
            "frame_bytes": self.frame_bytes,
            "intended_mbps": self.intended_mbps,
            "accelerator": model.accelerator,
            "emulated": model.accelerator == "emulated",
            "uut_context": "own",
            "mechanism": "raw",
            "ceiling_fps": ceiling_fps,
            "start_spread_ms": float(rng.exponential(0.2)),
            "warmup_s": 1.0,
            "duration_s": DURATION_S,
            "wall_s": DURATION_S + 2.1,
            "overhead_s": 0.9,
            "verdict": verdict,
            "marks": [mark] if limited and verdict == "valid" else [],
            "reasons": _reasons(verdict),
            "started_at": datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=13 * place["trial_id"]),
        }
        load = received_fps / capacity_fps
        delays = [self._delays(model, load, flood, rng) for _ in range(self.streams)]
        flows = [
            self._flow(
                stream,
                intended_fps=intended_fps,
                offered_fps=offered_fps,
                received_fps=received_fps,
                delays=delays[stream],
                rng=rng,
            )
            for stream in range(self.streams)
        ]
        lost = sum(flow["frames_lost"] for flow in flows)
        sent = sum(flow["frames_sent"] for flow in flows)
        busy = model.cpu_percent * load * rng.normal(1.0, 0.01)
        return TrialRecord(
            trial,
            flows,
            series=[{"role": "victim", "guest": 0, "stream": 0, "step": 0, "goodput_mbps": 1.0}],
            cpu=[
                {"host": "local", "domain": "host", "component": "total", "percent": busy},
                {
                    "host": "local",
                    "domain": "sink",
                    "component": "calibrated",
                    "percent": 51e-7 * received_fps,
                },
                {"host": "local", "domain": "source", "component": "thread", "percent": 100.0},
            ],
            hops=[
                {"hop": "link", "stream": 0, "received": sent, "forwarded": sent, "dropped": 0},
                {
                    "hop": "UUT ingress",
                    "stream": 0,
                    "received": sent,
                    "forwarded": sent - lost,
                    "dropped": lost,
                    "reason": "ring full (dropped_out of src0)",
                },
            ],
            searches=[{"goal": "NDR"}],  # a row to be lost: its trial is of no search, so that no view has it
            latency=[
                {
                    "stream": stream,
                    "kind": "one-way",
                    "corrected": False,
                    "lost": round(len(delay) * (offered_fps / received_fps - 1)),
                    "histogram": encode(delay),
                }
                for stream, delay in enumerate(delays)
            ],
            environment=[
                {"host": "local", "kernel": "6.1.0-synthetic", "clocksource": "tsc", "hash": "0" * 16}
            ],
            canary=[{"host": "local", "cpu": 1, "moment": "before", "chain_ns": 1.5}],
        )

    def _delays(self, model: Model, load: float, flood: bool, rng: np.random.Generator) -> np.ndarray:
        median_ns = model.delay_ns * (1 + 4 * load**4)
        samples = int((200 if flood else 1000) * DURATION_S)
        delays = np.maximum(1, rng.lognormal(np.log(median_ns), 0.3, samples)).astype(np.int64)
        step = int(10 ** max(0, np.floor(np.log10(median_ns)) - 2))  # few distinct values encode faster
        return np.maximum(1, delays // step * step)

    def _flow(
        self,
        stream: int,
        *,
        intended_fps: float | None,
        offered_fps: float,
        received_fps: float,
        delays: np.ndarray,
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        sent = round(offered_fps * DURATION_S)
        received = min(sent, round(received_fps * DURATION_S * rng.normal(1.0, 0.002)))
        received_fps = received / DURATION_S
        quantiles = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
        return {
            "role": "victim",
            "stream": stream,
            "intended_mbps": self.intended_mbps,
            "offered_mbps": units.mbps(offered_fps, self.frame_bytes),
            "received_mbps": units.mbps(received_fps, self.frame_bytes),
            "intended_fps": intended_fps,
            "offered_fps": offered_fps,
            "received_fps": received_fps,
            "goodput_mbps": units.goodput_mbps(received_fps, self.frame_bytes),
            "frames_sent": sent,
            "frames_received": received,
            "frames_lost": sent - received,
            "frames_duplicated": 0,
            "frames_reordered": 0,
            "loss_ratio": (sent - received) / sent,
            "send_errors": 0,
            "latency_count": len(delays),
            "latency_min_ns": float(delays.min()),
            "latency_mean_ns": float(delays.mean()),
            "latency_max_ns": float(delays.max()),
            **{
                f"latency_{name}_ns": float(np.quantile(delays, q, method="inverted_cdf"))
                for name, q in quantiles.items()
                if len(delays) >= round(10 / (1 - q))
            },
            "duration_s": DURATION_S,
        }


def _reasons(verdict: str) -> list[str]:
    return {
        "valid": [],
        "suspect": ["the source was late: p99 of its lag was 130 us, at most 100 us are allowed"],
        "invalid": ["the sink's program was detached during the measurement"],
    }[verdict]


def _campaign(factors: Mapping[str, list[Any]], repetitions: int, seed: int) -> dict[str, Any]:
    return {
        "vtax_version": "0.1.0",
        "name": "synthetic",
        "scenario": {
            "name": "synthetic",
            "title": "A made-up campaign",
            "question": "What do views make of it?",
            "factors": dict(factors),
            "repetitions": repetitions,
            "figures": ["throughput-by-load", "maximum-by-streams"],
        },
        "seed": seed,
        "created_at": "2025-01-01T00:00:00+00:00",
        "status": "complete",
        "platforms": {
            name: {
                "title": MODELS[name].title,
                "kind": MODELS[name].kind,
                "accelerator": MODELS[name].accelerator,
                "emulated": MODELS[name].accelerator == "emulated",
                "skipped": None,
            }
            for name in factors["platform"]
        },
        "hosts": {"local": {"kernel": "6.1.0-synthetic", "cpus": 2, "label": "shared-core"}},
        "testbed": {"name": "local", "link_mbps": 1000, "flow_control": True, "mtu": 1500},
        "command": ["vtax", "run", "synthetic"],
        "ceilings": [
            {
                "load": load,
                "mechanism": "raw",
                "streams": count,
                "frame_bytes": size,
                "ceiling_fps": FLOOD_CEILING_FPS,
            }
            for count, size, load in product(factors["streams"], factors["frame_bytes"], ["paced", "flood"])
        ],
    }
