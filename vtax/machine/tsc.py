"""How fast the CPUs' time-stamp counter runs, for kernels on emulated machines.

An emulator passes the counter on as it is. A kernel finds its rate by timers, which the emulator serves late where the
host is busy: guests' clocks have run more than ten times too fast. Some machines have no such timer at all.
"""

import ctypes
import mmap
import platform
import time
from functools import cache

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
"""rdtsc; shl rdx, 32; or rax, rdx; ret"""
APART_S = 0.05
TRIES = 50


def tsc_words() -> str:
    """Return the word by which an emulated machine's kernel learns the rate, after a space; nothing if unknown."""
    khz = tsc_khz()
    return "" if khz is None else f" tsc_early_khz={khz}"


@cache
def tsc_khz() -> int | None:
    """Measured against the raw monotonic clock to some parts in a million; None on machines of another kind."""
    if platform.machine() != "x86_64":
        return None
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(RDTSC)
        start = ctypes.c_char.from_buffer(page)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(start))
        first_ns, first = _reading(read)
        time.sleep(APART_S)
        last_ns, last = _reading(read)
        del read, start
    return round((last - first) * 1e6 / (last_ns - first_ns))


def _reading(read: "ctypes._CFunctionType") -> tuple[int, int]:
    """The clock in ns and the counter, as close to each other as it comes in so many tries."""

    def once() -> tuple[int, int, int]:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        counter = int(read())
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return after - before, (before + after) // 2, counter

    _, at_ns, counter = min(once() for _ in range(TRIES))
    return at_ns, counter
