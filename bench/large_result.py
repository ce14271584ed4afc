"""A result of a million trials and a hundred million samples, and what it costs to show and compare it.

    python -m bench.large_result DIRECTORY [TRIALS]

writes the result below DIRECTORY, unless it is there, and prints time and memory of each command on it. Nothing
in it was measured: its rows are drawn at random, from a fixed seed.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import JsonValue

from bench.histograms import as_filed, encode_all
from vtax.results import ResultWriter
from vtax.results.journal import Entry, Journal, row_counts
from vtax.results.parts import encoded, part_path
from vtax.results.schema import schemas

TRIALS = 1_000_000
SAMPLES = 100
"""Of delay, a trial."""
PLATFORMS = ("raw", "container", "lxc", "uml")
LOADS_MBPS = tuple(range(10, 260))
COMMANDS = ("show", "compare", "report")


def make(
    directory: Path,
    trials: int,
    seed: int = 1,
    loads_mbps: Sequence[int] = LOADS_MBPS,
    share: tuple[int, int] = (0, 1),
) -> None:
    """Write the result: blocks of all cells, by default a thousand, a trial each.

    A `share` (k, n) is what testbed k of n has of it: every n-th block, from the k-th on.
    """
    cells = len(PLATFORMS) * len(loads_mbps)
    factors: dict[str, JsonValue] = {"platform": [*PLATFORMS], "intended_mbps": [*loads_mbps]}
    campaign: dict[str, JsonValue] = {
        "name": "large",
        "scenario": {
            "name": "large",
            "title": "A large result",
            "factors": factors,
            "repetitions": trials // cells,
            "figures": ["throughput-by-load"],
        },
        "factors": list(factors),
        "status": "complete",
        "platforms": described(PLATFORMS),
    }
    ResultWriter.create(directory, campaign).close()
    rng = np.random.default_rng(seed)
    counts = json.dumps({"trials": 1, "flows": 1, "cpu": 1, "latency": 1, "environment": 1})
    with closing(Journal(directory)) as journal:
        for block in range(share[0], trials // cells, share[1]):
            for name, columns in _block(block, counts, rng, loads_mbps):
                write_rows(part_path(directory, name, block), campaign, columns)
            journal.extend(Entry(block * cells + cell, block, row_counts(counts)) for cell in range(cells))


Columns = Mapping[str, Sized]
"""What a table has in each column."""


def described(platforms: Sequence[str]) -> dict[str, JsonValue]:
    """What campaign.json says of platforms, each of a kind of its own."""
    return {name: {"title": name, "kind": name, "emulated": False} for name in platforms}


def write_rows(path: Path, campaign: Mapping[str, JsonValue], columns: Columns) -> None:
    """Write a part of the table that its directory is named as; columns that are not given are null."""
    schema = schemas(campaign)[path.parent.name]
    rows_of = len(next(iter(columns.values()), ()))
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(rows_of, field.type)
        for field in schema
    ]
    path.parent.mkdir(exist_ok=True)
    rows = pa.Table.from_arrays(arrays, schema=schema)
    path.write_bytes(encoded(rows))


def _block(
    block: int, counts: str, rng: np.random.Generator, loads_mbps: Sequence[int]
) -> Iterator[tuple[str, Columns]]:
    grid = [(platform, load) for platform in PLATFORMS for load in loads_mbps]
    cells = len(grid)
    loads = np.array([float(load) for _, load in grid])
    received = loads * rng.normal(0.98, 0.005, cells).clip(0, 1)
    key = {"trial_id": np.arange(block * cells, (block + 1) * cells)}
    yield (
        "trials",
        {
            **key,
            "cell": [f"platform={platform} intended_mbps={load}" for platform, load in grid],
            "block": np.full(cells, block),
            "repetition": np.full(cells, block),
            "platform": [platform for platform, _ in grid],
            "streams": np.ones(cells, int),
            "frame_bytes": np.full(cells, 1500),
            "intended_mbps": loads,
            "emulated": np.zeros(cells, bool),
            "uut_context": ["own"] * cells,
            "duration_s": np.ones(cells),
            "verdict": ["valid"] * cells,
            "marks": [[]] * cells,
            "reasons": [[]] * cells,
            "started_at": [datetime(2026, 1, 1, tzinfo=UTC)] * cells,
            "row_counts": [counts] * cells,
        },
    )
    sent = np.full(cells, 10_000)
    delays_ns = as_filed(rng.lognormal(9, 0.3, (cells, SAMPLES)).astype(np.int64))
    lost = (sent * (1 - received / loads)).round().astype(int)
    yield (
        "flows",
        {
            **key,
            "role": ["victim"] * cells,
            "guest": np.zeros(cells, int),
            "stream": np.zeros(cells, int),
            "intended_mbps": loads,
            "offered_mbps": loads,
            "received_mbps": received,
            "frames_sent": sent,
            "frames_received": sent - lost,
            "frames_lost": lost,
            "loss_ratio": lost / sent,
            "latency_count": np.full(cells, SAMPLES),
            "latency_p50_ns": np.median(delays_ns, axis=1),
            "duration_s": np.ones(cells),
        },
    )
    busy = rng.normal(20, 1, cells)
    yield (
        "cpu",
        {
            **key,
            "host": ["local"] * cells,
            "domain": ["host"] * cells,
            "component": ["total"] * cells,
            "percent": busy,
        },
    )
    yield (
        "latency",
        {
            **key,
            "stream": np.zeros(cells, int),
            "kind": ["one-way"] * cells,
            "corrected": np.zeros(cells, bool),
            "lost": np.zeros(cells, int),
            "histogram": encode_all(delays_ns),
        },
    )
    yield (
        "environment",
        {**key, "host": ["local"] * cells, "kernel": ["6.1"] * cells, "hash": ["0" * 12] * cells},
    )
    for empty in ("series", "hops", "searches"):
        yield empty, {}


def measure(command: str, *results: Path) -> tuple[float, float]:
    """Seconds and GB at most of a command of vtax on results."""
    vtax = Path(sys.executable).parent / "vtax"
    start = time.perf_counter()
    process = subprocess.Popen([vtax, command, *map(str, results)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"vtax {command} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, _gigabytes(usage)


def _gigabytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss * 1024 / 1e9


def main(directory: Path, trials: int = TRIALS) -> None:
    """Make what is missing, and print a line a command."""
    results = [directory / name for name in "ab"]
    for seed, result in enumerate(results):
        if not result.exists():
            make(result, trials, seed)
    for command in COMMANDS:
        seconds, gigabytes = measure(command, *results[: 2 if command == "compare" else 1])
        print(f"{command}: {seconds:.1f} s, {gigabytes:.2f} GB", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
