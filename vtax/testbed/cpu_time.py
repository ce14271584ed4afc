"""Whose CPU time is whose on a host's machine: of threads that have a name, of guests, and of others' processes."""

import os
from collections.abc import Iterable, Mapping
from typing import TypedDict

from vtax.machine.cpu import CpuInstant, CpuSeconds, sample_cpus, thread_time
from vtax.machine.processes import descendants, inherited, others, processes
from vtax.machine.throttling import throttled_s
from vtax.platforms import Apart, Guest
from vtax.testbed.accounts import CONTROLLER, Account

Threads = Mapping[int, tuple[int, Account]]
"""Process id and whose it is, by thread id."""


class ThreadTimes(TypedDict):
    """Time of an account's threads, in ns, and how often they got a CPU."""

    account: Account
    run_ns: int
    wait_ns: int
    runs: int


class GuestTime(TypedDict):
    """Seconds that a guest's component ran by the hypervisor below that runs it."""

    account: Account
    ran_s: float


class CpuCounters(CpuInstant):
    """CPU time of a host until an instant; `idle_s` and `steal_s` are those of the CPUs that were named."""

    machine: CpuSeconds
    """The same of all CPUs of the host's machine."""
    threads: list[ThreadTimes]
    """Of those whose account is known; an entry an account."""
    apart: list[GuestTime]
    """Of guests that a hypervisor below runs."""


class Owners(TypedDict):
    """Whose CPU time is whose, by id: of threads, and of other processes."""

    threads: dict[int, Account]
    processes: dict[int, Account]


class ForeignProcess(TypedDict):
    """A process that is neither vtax's nor a guest's, with its CPU time and the CPU that it was on last."""

    name: str
    pid: int
    cpu: int
    cpu_s: float


class Activity(TypedDict):
    """What else goes on at a host: the offset of its clock, others' processes by id and start time, and quotas."""

    at_s: float
    clock_offset_ns: int
    others: dict[str, ForeignProcess]
    throttled_s: dict[str, float]
    """How long quotas of CPU time held threads of vtax and of guests back, by cgroup (vtax.machine.throttling)."""


def threads_of(guests: Mapping[str, Guest]) -> Threads:
    """The threads that guests are made of, each its guest's."""
    return {
        tid: (pid, Account.of_guest(name, component))
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
    times: dict[Account, ThreadTimes] = {}
    for tid, (pid, account) in threads.items():
        _add_thread(times, account, pid, tid)
    return {
        "at_s": sample.at_s,
        "idle_s": {cpu: sample.idle_s[cpu] for cpu in cpus},
        "steal_s": {cpu: sample.steal_s[cpu] for cpu in cpus},
        "machine": {"idle_s": sample.idle_s, "steal_s": sample.steal_s},
        "threads": [*times.values()],
        "apart": [
            {"account": Account.of_guest(name, component), "ran_s": ran_s}
            for name, guest in apart.items()
            for component, ran_s in guest.cpu_times().items()
        ],
    }


def threads_between(before: CpuCounters, after: CpuCounters) -> dict[Account, ThreadTimes]:
    """Return the time that threads had in between, by account; one that was not there before had none until then."""
    earlier = {times["account"]: times for times in before["threads"]}
    return {times["account"]: _since(earlier.get(times["account"]), times) for times in after["threads"]}


def guests_between(before: CpuCounters, after: CpuCounters) -> dict[Account, float]:
    """Return the CPUs that guests had in between which a hypervisor below runs, by account."""
    elapsed_s = after["at_s"] - before["at_s"]
    earlier = {time["account"]: time["ran_s"] for time in before["apart"]}
    return {
        time["account"]: (time["ran_s"] - earlier.get(time["account"], 0.0)) / elapsed_s
        for time in after["apart"]
    }


def _since(earlier: ThreadTimes | None, later: ThreadTimes) -> ThreadTimes:
    if earlier is None:
        return later
    return {
        "account": later["account"],
        "run_ns": later["run_ns"] - earlier["run_ns"],
        "wait_ns": later["wait_ns"] - earlier["wait_ns"],
        "runs": later["runs"] - earlier["runs"],
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


def withheld(guests: Mapping[str, Guest]) -> dict[str, float]:
    """How long CPU quotas held threads of vtax and of guests back so far, by cgroup."""
    of_guests = {pid for guest in guests.values() for pid, _ in guest.threads().values()}
    return throttled_s({os.getpid(), *descendants(os.getpid()), *of_guests})


def heirs_of(owned: Mapping[int, Account]) -> dict[int, Account]:
    """The machine's processes that are somebody's: the nearest owned ancestor's, or the controller's."""
    return inherited(processes(), {os.getpid(): CONTROLLER, **owned})


def _add_thread(times: dict[Account, ThreadTimes], account: Account, pid: int, tid: int) -> None:
    found = thread_time(pid, tid)
    if found is not None:
        total = times.setdefault(account, {"account": account, "run_ns": 0, "wait_ns": 0, "runs": 0})
        total["run_ns"] += found.run_ns
        total["wait_ns"] += found.wait_ns
        total["runs"] += found.runs
