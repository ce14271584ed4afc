"""Time and memory that it takes to look for artifacts in a whole campaign's samples."""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from bench.figure import Figure, Section, sample_text
from validation import planted
from vtax.statistics.artifacts import detect, summarise

PLATFORMS = 5
SHAPE = (50, 10_000)
ROUNDS = 3
LONGEST_S = 10.0
LARGEST_MB = 500.0

TEXT = f"""
Samples of {PLATFORMS} platforms, {SHAPE[0]} runs of {SHAPE[1]:,} iterations each as matthews2009 has them, with lines
and a diagonal planted in them, are summarised and looked at by every detector, beside the first of them; {ROUNDS}
times, each in a process of its own. Memory is the process's largest, the samples and the interpreter included.
"""


def run(directory: Path) -> Section:
    """Measure; nothing is written to `directory`."""
    found = [_in_a_process() for _ in range(ROUNDS)]
    elapsed, memory = zip(*found, strict=True)
    samples = f"{PLATFORMS} x {SHAPE[0]} x {SHAPE[1]:,} samples"
    return Section(
        "Artifact detection",
        TEXT,
        (
            _figure(f"time for {samples}", "s", list(elapsed), LONGEST_S),
            _figure(f"memory for {samples}", "MB", list(memory), LARGEST_MB),
        ),
    )


def analyse() -> tuple[float, float]:
    """Seconds for all platforms, and the largest memory of this process in MB."""
    rng = np.random.default_rng(9)
    platforms = [
        planted.diagonals(rng, planted.lines(rng, planted.lognormal(rng, SHAPE), 4, 512), 60)
        for _ in range(PLATFORMS)
    ]
    begun = time.monotonic()
    for samples in platforms:
        summarise(samples)
        detect(samples, platforms[0])
    elapsed_s = time.monotonic() - begun
    return elapsed_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _in_a_process() -> tuple[float, float]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        return processes.submit(analyse).result()


def _figure(name: str, unit: str, values: list[float], most: float) -> Figure:
    largest = max(values)
    text = sample_text(values, unit, 1)
    return Figure(name, text, "none", f"at most {most:g} {unit}", largest, None, None, largest <= most)
