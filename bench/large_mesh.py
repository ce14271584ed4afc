"""A result of relays as large as matthews2009 has it, every iteration of every run kept. Nothing in it was measured."""

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from bench.large_result import Columns, described, write_rows
from validation import planted
from vtax.results import ResultWriter
from vtax.results.journal import Entry, Journal, row_counts
from vtax.results.parts import part_path, trial_part_path

PLATFORMS = ("raw", "container", "lxc", "qemu-virtio", "uml")
SHAPE = (50, 10_000)
"""Runs, and iterations of each."""


def make(directory: Path, seed: int = 1) -> None:
    """Write the result: lines and a diagonal in the runs of all platforms but raw."""
    runs, iterations = SHAPE
    trials = [(platform, run) for platform in PLATFORMS for run in range(runs)]
    campaign: dict[str, JsonValue] = {
        "name": "mesh",
        "scenario": {
            "name": "mesh",
            "title": "A large mesh",
            "workload": {"kind": "relay"},
            "factors": {"platform": list(PLATFORMS)},
            "figures": ["rounds-mesh", "rounds-surface", "rounds-histogram"],
        },
        "status": "complete",
        "platforms": described(PLATFORMS),
    }
    ResultWriter.create(directory, campaign).close()
    rng = np.random.default_rng(seed)
    counts = json.dumps({"trials": 1, "flows": 1, "samples": iterations})
    number = len(trials)
    key = {"trial_id": np.arange(number)}
    write_rows(
        part_path(directory, "trials", 0),
        campaign,
        {
            **key,
            "cell": [f"platform={platform} hops=1" for platform, _ in trials],
            "block": np.zeros(number, int),
            "run": [run for _, run in trials],
            "platform": [platform for platform, _ in trials],
            "hops": np.ones(number, int),
            "iterations": np.full(number, iterations),
            "load": ["network"] * number,
            "placement": ["one-guest"] * number,
            "transport": ["tcp"] * number,
            "connection": ["fresh"] * number,
            "message_bytes": np.full(number, 4),
            "interval_ms": np.zeros(number),
            "emulated": np.zeros(number, bool),
            "verdict": ["valid"] * number,
            "marks": [[]] * number,
            "reasons": [[]] * number,
            "started_at": [datetime(2026, 1, 1, tzinfo=UTC)] * number,
            "row_counts": [counts] * number,
        },
    )
    flows: Columns = {
        **key,
        "role": ["victim"] * number,
        "guest": np.zeros(number, int),
        "duration_s": np.full(number, 0.6),
    }
    write_rows(part_path(directory, "flows", 0), campaign, flows)
    for platform in PLATFORMS:
        ns = planted.lognormal(rng, SHAPE)
        if platform != "raw":
            ns = planted.diagonals(rng, planted.lines(rng, ns, 4, 512), 60)
        for run in range(runs):
            trial = trials.index((platform, run))
            rows = {
                "trial_id": np.full(iterations, trial),
                "run": np.full(iterations, run),
                "iteration": np.arange(iterations),
                "ns": ns[run].round().astype(int),
                "status": ["done"] * iterations,
            }
            write_rows(trial_part_path(directory, "samples", 0, trial), campaign, rows)
    with closing(Journal(directory)) as journal:
        journal.extend(Entry(trial, 0, row_counts(counts)) for trial in range(number))
