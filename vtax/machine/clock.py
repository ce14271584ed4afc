"""The distance between time of day and the clock that is never stepped."""

import time

READS = 3


def clock_offset_ns() -> int:
    """CLOCK_REALTIME less CLOCK_MONOTONIC. Both are slewed alike, so that it changes by steps only.

    The tightest of a few reads, as another process may run between the two clocks.
    """
    reads = []
    for _ in range(READS):
        before, now, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        reads.append((after - before, now - (before + after) // 2))
    return min(reads)[1]
