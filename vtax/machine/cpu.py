"""CPU time of a host and of single threads.

Busy time is elapsed time less idle and stolen time: the kernel measures idle time by the clock, while its user, system
and softirq figures are samples of the timer tick. Thread times are the scheduler's own (schedstat), exact to
the nanosecond but blind to interrupts and softirqs that run on top of a thread.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class CpuSeconds(TypedDict):
    """Idle and stolen time of CPUs, in seconds, by CPU number."""

    idle_s: dict[int, float]
    steal_s: dict[int, float]


class CpuInstant(CpuSeconds):
    """The same, and CLOCK_MONOTONIC when it was read."""

    at_s: float


@dataclass(frozen=True)
class CpuSample:
    """Clock and counters at one instant, seconds; `idle_s` and `steal_s` by CPU number."""

    at_s: float
    idle_s: dict[int, float]
    steal_s: dict[int, float]

    @classmethod
    def of(cls, counters: CpuInstant) -> CpuSample:
        """What Host.counters tells of CPUs."""
        return cls(counters["at_s"], counters["idle_s"], counters["steal_s"])

    def having_run(self, ran_s: Mapping[int, float]) -> CpuSample:
        """The same where a hypervisor below tells for how long each CPU ran: what that and stolen time leave is idle.

        A kernel that is woken takes the time until it gets its CPU both for idle and for stolen.
        """
        idle_s = {cpu: self.at_s - ran_s[cpu] - stolen_s for cpu, stolen_s in self.steal_s.items()}
        return replace(self, idle_s=idle_s)


def sample_cpus(cpus: list[int] | None = None) -> CpuSample:
    """Read /proc/stat (proc(5)), of all CPUs unless told: idle is fields 4 and 5 (idle, iowait), steal field 8."""
    at_s = time.monotonic()
    idle, steal = {}, {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if name.startswith("cpu") and name != "cpu" and (cpus is None or int(name[3:]) in cpus):
            fields = [int(field) for field in rest.split()]
            idle[int(name[3:])] = (fields[3] + fields[4]) * TICK_S
            steal[int(name[3:])] = fields[7] * TICK_S
    return CpuSample(at_s, idle, steal)


@dataclass(frozen=True)
class CpuUse:
    """Use between two samples in percent, 100 = one CPU, summed over the sampled CPUs; one tick of rounding a CPU."""

    busy_percent: float
    steal_percent: float
    rounding_percent: float


def cpu_use(before: CpuSample, after: CpuSample) -> CpuUse:
    """CPU use between two samples of the same CPUs; stolen time is nobody's use here."""
    elapsed = after.at_s - before.at_s
    cpus = len(before.idle_s)
    idle = sum(after.idle_s[cpu] - before.idle_s[cpu] for cpu in before.idle_s)
    steal = sum(after.steal_s[cpu] - before.steal_s[cpu] for cpu in before.steal_s)
    busy = min(max(elapsed * cpus - idle - steal, 0.0), elapsed * cpus)
    return CpuUse(100 * busy / elapsed, 100 * steal / elapsed, 100 * TICK_S * cpus / elapsed)


@dataclass(frozen=True)
class ThreadTime:
    """Nanoseconds that a thread ran, and was runnable but waited for a CPU; how often it got one (schedstat)."""

    run_ns: int
    wait_ns: int
    runs: int


def thread_time(pid: int, tid: int | None = None) -> ThreadTime | None:
    """Times of one thread, None once it is gone."""
    path = Path(f"/proc/{pid}/schedstat") if tid is None else Path(f"/proc/{pid}/task/{tid}/schedstat")
    try:
        run, wait, runs = path.read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return ThreadTime(int(run), int(wait), int(runs))


def threads_of(pid: int) -> dict[int, str]:
    """Thread ids of a process with their names."""
    threads = {}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process ends
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread ends
                threads[int(task.name)] = (task / "comm").read_text(errors="replace").strip()
    return threads
