"""The clocks of a machine: which they are, and how they stand to each other."""

import time
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/timens_offsets")
READS = 3


def clock_identity() -> str:
    """What all that read the same CLOCK_MONOTONIC have in common: their kernel, and what a time namespace adds."""
    added = NAMESPACE.read_text().split() if NAMESPACE.exists() else []
    return " ".join([BOOT_ID.read_text().strip(), *added])


def clock_offset_ns() -> int:
    """CLOCK_REALTIME less CLOCK_MONOTONIC. Both are slewed alike, so that it changes by steps only.

    The tightest of a few reads, as another process may run between the two clocks.
    """
    reads = []
    for _ in range(READS):
        before, now, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        reads.append((after - before, now - (before + after) // 2))
    return min(reads)[1]
