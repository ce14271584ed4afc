"""How long quotas of CPU time held threads back, by the cgroups of processes and those above.

A thread that is held back waits for no CPU by the scheduler's account: neither run delay nor steal shows it. Both
versions of cgroups count it in `cpu.stat` (sched-bwc.rst and cgroup-v2.rst of the kernel).
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

PROC: Final = Path("/proc")
SECONDS: Final = {"throttled_time": 1e-9, "throttled_usec": 1e-6}
"""The line of `cpu.stat` in either version, and its unit."""


def throttled_s(pids: Iterable[int], proc: Path = PROC) -> dict[str, float]:
    """Return how long each cgroup's quota held its threads back so far, in seconds of a CPU each, by its path.

    Cgroups are those of the processes and all above them; those that were never held back are left out, as are
    processes that are gone.
    """
    found: dict[str, float] = {}
    hierarchies = dict(_hierarchies(proc / "self/mounts"))
    for pid in pids:
        with contextlib.suppress(OSError):
            for controllers, group in _groups(proc / str(pid) / "cgroup"):
                for version, root in hierarchies.items():
                    if version in controllers:
                        found |= _held_back(root, group)
    return found


def _hierarchies(mounts: Path) -> Iterator[tuple[str, Path]]:
    """Where cgroups are mounted that may have quotas, by what /proc/PID/cgroup calls their controller."""
    for line in mounts.read_text().splitlines():
        _, directory, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            yield "cpu", Path(directory)
        elif kind == "cgroup2":
            yield "", Path(directory)


def _groups(file: Path) -> Iterator[tuple[list[str], PurePosixPath]]:
    """The cgroups of a process: the controllers of each hierarchy, none named in version 2, and its path there."""
    for line in file.read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        yield controllers.split(","), PurePosixPath(group)


def _held_back(root: Path, group: PurePosixPath) -> dict[str, float]:
    """Those of a cgroup and all above it that were ever held back."""
    if ".." in group.parts:
        return {}  # above what this view of cgroups begins with
    found = {}
    for each in (group, *group.parents):
        with contextlib.suppress(OSError):
            for line in (root / each.relative_to("/") / "cpu.stat").read_text().splitlines():
                name, _, value = line.partition(" ")
                if name in SECONDS and int(value):
                    found[str(each)] = int(value) * SECONDS[name]
    return found
