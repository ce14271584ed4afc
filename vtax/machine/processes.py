"""Processes of this machine: whose they are, those below one, and the CPU time of those that are not ours."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vtax.machine.cpu import TICK_S

Owner = TypeVar("Owner")

PF_KTHREAD = 0x00200000
"""Flag of kernel threads (linux/sched.h): they work for whoever caused it."""


@dataclass(frozen=True)
class Process:
    """A process as /proc/PID/stat tells (proc(5)); `started` makes a recycled id another process."""

    pid: int
    parent: int
    name: str
    started: int
    cpu: int
    cpu_s: float
    kernel: bool


def processes() -> list[Process]:
    """Every process there is; one that ends meanwhile may be missing."""
    found = (_read(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208 - names will do
    return [process for process in found if process is not None]


def others(everything: Iterable[Process], root: int) -> list[Process]:
    """The processes of users that neither are `root` nor descend from it."""
    known = {process.pid: process for process in everything}

    def descends(process: Process) -> bool:
        seen: Process | None = process
        while seen is not None and seen.pid != root:
            seen = known.get(seen.parent)
        return seen is not None

    return [process for process in known.values() if not process.kernel and not descends(process)]


def inherited(everything: Iterable[Process], owned: Mapping[int, Owner]) -> dict[int, Owner]:
    """Return whose the owned processes and their descendants are: each is the nearest owned one's owner's."""
    known = {process.pid: process for process in everything}

    def owner(process: Process | None) -> Owner | None:
        while process is not None and process.pid not in owned:
            process = known.get(process.parent)
        return owned[process.pid] if process is not None else None

    found = {pid: owner(process) for pid, process in known.items()}
    return {**{pid: whose for pid, whose in found.items() if whose is not None}, **owned}


def children(pid: int) -> list[int]:
    """The children of all of a process's threads (proc(5)); none when it is gone."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, listed.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """The children of a process, each followed by its own descendants."""
    return [one for child in children(pid) for one in (child, *descendants(child))]


def _read(pid: int) -> Process | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()  # the first is field 3 of proc(5)
    return Process(
        pid=pid,
        parent=int(fields[1]),
        name=name,
        started=int(fields[19]),
        cpu=int(fields[36]),
        cpu_s=(int(fields[11]) + int(fields[12])) * TICK_S,
        kernel=bool(int(fields[6]) & PF_KTHREAD),
    )
