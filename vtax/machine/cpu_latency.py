"""Keeping idle CPUs out of deep sleep, from which being woken takes longer than much of what is timed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

CPU_LATENCY = Path("/dev/cpu_dma_latency")


@contextlib.contextmanager
def cpu_latency_held() -> Iterator[None]:
    """Of the whole machine while the block lasts; where the kernel can."""
    if not CPU_LATENCY.exists():
        yield
        return
    with CPU_LATENCY.open("wb", buffering=0) as request:
        request.write(bytes(4))
        yield
