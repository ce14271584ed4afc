"""Whose CPU time is whose on a host's machine: of threads that have a name, of guests, and of others' processes."""

import os
from collections.abc import Iterable, Mapping
from typing import TypedDict

from vtax.machine.cpu import CpuInstant, CpuSeconds, sample_cpus, thread_time
from vtax.machine.processes import inherited, others, processes
from vtax.platforms import Apart, Guest

Threads = Mapping[int, tuple[int, str]]
"""Process id and name, by thread id."""


class ThreadTimes(TypedDict):
    """Time of threads that have one name, in ns, and how often they got a CPU."""

    run_ns: int
    wait_ns: int
    runs: int


class CpuCounters(CpuInstant):
    """CPU time of a host until an instant; `idle_s` and `steal_s` are those of the CPUs that were named."""

    machine: CpuSeconds
    """The same of all CPUs of the host's machine."""
    threads: dict[str, ThreadTimes]
    """By name, "domain component"."""
    apart: dict[str, float]
    """Seconds that guests ran by the hypervisor below that runs them, by the same names."""


class Owners(TypedDict):
    """Whose CPU time is whose, "domain component" by id: of threads, and of other processes."""

    threads: dict[int, str]
    processes: dict[int, str]


class ForeignProcess(TypedDict):
    """A process that is neither vtax's nor a guest's, with its CPU time and the CPU that it was on last."""

    name: str
    pid: int
    cpu: int
    cpu_s: float


class Activity(TypedDict):
    """What else goes on at a host: the offset of its clock, and others' processes by id and start time."""

    at_s: float
    clock_offset_ns: int
    others: dict[str, ForeignProcess]


def threads_of(guests: Mapping[str, Guest]) -> Threads:
    """The threads that guests are made of, each named by its guest and component."""
    return {
        tid: (pid, f"{name} {component}")
        for name, guest in guests.items()
        for tid, (pid, component) in guest.threads().items()
    }


def count_time(cpus: Iterable[int], threads: Threads, guests: Mapping[str, Guest]) -> CpuCounters:
    """Counters of this instant, as Host.counters has them."""
    apart = {name: guest for name, guest in guests.items() if isinstance(guest, Apart)}
    sample = sample_cpus()
    if apart:
        below, *_ = apart.values()
        sample = sample.having_run(below.host_cpu_times(sample.idle_s))
    times: dict[str, ThreadTimes] = {}
    for tid, (pid, name) in threads.items():
        _add_thread(times, name, pid, tid)
    return {
        "at_s": sample.at_s,
        "idle_s": {cpu: sample.idle_s[cpu] for cpu in cpus},
        "steal_s": {cpu: sample.steal_s[cpu] for cpu in cpus},
        "machine": {"idle_s": sample.idle_s, "steal_s": sample.steal_s},
        "threads": times,
        "apart": {
            f"{name} {component}": ran_s
            for name, guest in apart.items()
            for component, ran_s in guest.cpu_times().items()
        },
    }


def foreign_processes(guests: Mapping[str, Guest]) -> dict[str, ForeignProcess]:
    """Processes that are neither vtax's nor guests', with their CPU time, by id and start time."""
    own = {pid for guest in guests.values() for pid, _ in guest.threads().values()}
    return {
        f"{process.pid}.{process.started}": {
            "name": process.name,
            "pid": process.pid,
            "cpu": process.cpu,
            "cpu_s": process.cpu_s,
        }
        for process in others(processes(), os.getpid())
        if process.pid not in own
    }


def heirs_of(named: Mapping[int, str]) -> dict[int, str]:
    """The machine's processes that are somebody's: the nearest named ancestor's, or the controller's."""
    return inherited(processes(), {os.getpid(): "controller vtax", **named})


def _add_thread(times: dict[str, ThreadTimes], component: str, pid: int, tid: int) -> None:
    found = thread_time(pid, tid)
    if found is not None:
        total = times.setdefault(component, {"run_ns": 0, "wait_ns": 0, "runs": 0})
        total["run_ns"] += found.run_ns
        total["wait_ns"] += found.wait_ns
        total["runs"] += found.runs
